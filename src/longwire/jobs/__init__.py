"""Jobs: work that is too large for one request, done in small steps beside the requests.

Owns what a job can do, which devices it takes, its steps, and how it is undone. Each step is one
transaction, which stores its results and how far the job is. Never holds a transaction open between
two steps, and never does what the person who started it may not do at that moment.
"""
