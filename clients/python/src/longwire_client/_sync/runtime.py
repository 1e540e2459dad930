"""What differs between the two clients beyond `async` and `await`."""

import threading
import time

sleep = time.sleep
Lock = threading.Lock
