"""What happens on a slow machine, at any speed: `pytest -p tests.hurry`.

Background tasks run thirty times as often, so that in the middle of a test something expires, is
evicted or deleted; and each work on SQLite that waited together with others has its own commit.
"""

from longwire.process import maintenance
from longwire.store.engines import workers

maintenance.EPOCH_POLL_INTERVAL_S /= 30
maintenance.DEVICES_POLL_INTERVAL_S /= 30
maintenance.CONFIGURATIONS_POLL_INTERVAL_S /= 30
maintenance.DOWNLINKS_POLL_INTERVAL_S /= 30
maintenance.CONNECTORS_POLL_INTERVAL_S /= 30
maintenance.CLEANUP_INTERVAL_S /= 30
workers.COMMIT_AFTER_S = 0.0
