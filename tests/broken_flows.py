"""A flow that is broken off after some of its calls, as a process that dies leaves it."""

from wmem.flow import Flow, Ports


def break_off(flow: Flow[object], ports: Ports, asks: int) -> bool:
    """Drive a flow for so many calls of its ports; returns whether it came to its end."""
    reply: object = None
    for _ in range(asks):
        try:
            name, args = flow.send(reply)
        except StopIteration:
            return True
        reply = ports[name](*args)
    flow.close()
    return False
