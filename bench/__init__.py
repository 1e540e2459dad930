"""How fast the service is, as a share of what this machine could do at best in the same minute.

Owns: the load client (`load`), the ceiling it is held against (`ceiling`), the table of results
(`table`).
May use: the service from outside, over HTTP, and its way of building a server.
Never: reaches into the service's rooms, or quotes a rate without the ceiling measured beside it.
"""
