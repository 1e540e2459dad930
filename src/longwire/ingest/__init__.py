"""Records in: whatever arrives is validated, batched, and stored in one transaction.

Owns the requests of senders from the queue to the result after their commit, with everything that
follows from new records: devices seen, counters, deliveries, notifications. Uses `fleet`,
`notifications`, `delivery` and `store`. It knows no HTTP and no protocol of a network, and it never
responds before the commit.
"""
