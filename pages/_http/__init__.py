"""HTTP around the pages: who may pass, what is cached, which headers go out."""
