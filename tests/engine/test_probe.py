from tests.engine.conftest import WIRES
import pytest, pondero
def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"
@pytest.mark.parametrize("model", WIRES)
def test_probe(client, model):
    for l in ("off","low","medium","high","max",5, None):
        for stream in (True, False):
            try:
                r=client.ask(model,"Weather?",l,stream=stream,max_tokens=200)
                print(model,l,stream,r.thinking and [t.count("step") for t in r.thinking],r.text,r.finish,r.verdict,r.usage,r.plan.fields,[a.code for a in r.plan.adjustments], r.model, r.request_id, r.message.parts[0] if l=="low" else "")
            except Exception as e: print("EXC",model,l,stream,type(e),e)
    for kw in (dict(max_tokens=5),):
        for stream in (True, False):
            r=client.ask(model,"Weather?","max",stream=stream,**kw); print(r.finish,r.verdict,r.cap,r.raw_finish,r.message.parts,r.usage)
    for stream in (True,False):
      try:
        c=pondero.Chat(model,"low",tools=[get_weather],client=client,stream=stream)
        r=c.send("Weather?"); print(r.text, r.verdict); 
        for m in c.messages: print("   ",m)
      except Exception as e: print("EXC",model,type(e),e)
