"""Commands that talk to a service over HTTP, with the Python client.

They need nothing of the service's own code, its settings or its database: `profiles` knows where
the service is and who we are there, `connection` opens a client, `output` prints what it returns.
"""
