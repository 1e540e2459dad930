"""What differs between the two clients beyond `async` and `await`."""

import asyncio

sleep = asyncio.sleep
Lock = asyncio.Lock
