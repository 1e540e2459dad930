"""Which connectors have metrics of their own."""

from longwire.delivery.connectors.backlogs import OTHER, ConnectorBacklog, merge_least


def connector(name: str, queued: int = 0, dead_letters: int = 0, failures: int = 0):
    return ConnectorBacklog(name, "http", queued, dead_letters, failures)


def test_failing_connectors_come_first_then_the_largest_backlogs():
    connectors = [
        connector("idle", queued=1),
        connector("large", queued=1_000),
        connector("failing", queued=2, failures=1),
        connector("dead", dead_letters=50),
    ]
    worst = merge_least(connectors, 2)
    assert worst == [
        connector("failing", queued=2, failures=1),
        connector("large", queued=1_000),
        ConnectorBacklog(OTHER, OTHER, queued=1, dead_letters=50, failures=0),
    ]


def test_there_are_never_more_than_the_limit_and_one():
    connectors = [connector(f"{number}", queued=1, failures=number) for number in range(500)]
    worst = merge_least(connectors, 100)
    assert len(worst) == 101
    assert sum(each.queued for each in worst) == 500
    assert merge_least(connectors[:3], 100)[-1].id != OTHER
