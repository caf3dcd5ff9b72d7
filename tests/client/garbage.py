"""Run by a test in a process of its own: a second question leaves no cycle behind."""

import gc

from tests.transport.scripted import SUM, Scripted

import pondero
from pondero.canon import ResponseHead

head = ResponseHead(200, {"content-type": "text/event-stream"})
client = pondero.Client(transport=Scripted((head, SUM), (head, SUM)))
assert client.ask("claude-opus-5", "17 * 23?").text == "391"
gc.collect()
gc.disable()
assert client.ask("claude-opus-5", "17 * 23?").text == "391"
# A generator in a cycle is not counted by collect(): it ends itself first.
assert not [each for each in gc.get_objects() if isinstance(each, pondero.client.Stream)]
assert gc.collect() == 0
