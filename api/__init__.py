"""JSON over HTTP: each route reads its parameters, asks `data.queries` or `policy.queries`, and shows the answer."""
