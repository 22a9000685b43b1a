"""The compact view of one user inside Open OnDemand: a small WSGI app in a process that the user owns.

It has no power of its own. In the central mode a Fullwarp server, asked with a token of this user, decides what may be
seen; in the direct mode Slurm does, asked as the user. It is a package beside the pages because it runs elsewhere, as
somebody else, and with a tenth of what they load.
"""
