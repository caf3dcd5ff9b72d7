"""How to point a gateway at the referee: its configuration for LiteLLM, Portkey and others."""

from collections.abc import Callable, Mapping

import msgspec

from ...canon import Json
from ...errors import BadParameter
from .fronts import MAX_TOKENS
from .upstreams import Back, find_upstream

REFEREE_KEY = "any-key"
"""Any key is right at the referee."""


def base_url(url: str, provider: str) -> str:
    """Return where a provider is at the referee, as its SDK wants it."""
    root = find_upstream(provider).root
    return f"{url}/{provider}/v1" if root is None else f"{url}{root}"


def pondero_toml(url: str, models: Mapping[str, Back]) -> str:
    """Return a gateway.toml for ``pondero serve``."""
    lines = ["# REFEREE_KEY=any-key pondero serve --config gateway.toml", ""]
    for provider in dict.fromkeys(back.provider for back in models.values()):
        lines += [f"[provider.{provider}]", f'url = "{base_url(url, provider)}"']
        lines += ['key = "env:REFEREE_KEY"', ""]
    for name, back in models.items():
        lines += ["[[route]]", f'match = "{name}"', f'to = ["{back.model}"]', "retries = 0", ""]
    return "\n".join(lines)


def litellm_yaml(url: str, models: Mapping[str, Back]) -> str:
    """Return a config.yaml for LiteLLM's proxy."""
    lines = ["model_list:"]
    for name, back in models.items():
        provider, upstream = back.provider, find_upstream(back.provider)
        lines += [f"  - model_name: {name}", "    litellm_params:"]
        lines.append(f"      model: {upstream.litellm or provider}/{back.name}")
        if upstream.aws:
            lines += [f"      aws_bedrock_runtime_endpoint: {url}"]
            lines += ["      aws_region_name: us-east-1"]
            lines += [f"      aws_access_key_id: {REFEREE_KEY}"]
            lines += [f"      aws_secret_access_key: {REFEREE_KEY}"]
        else:
            lines += [f"      api_base: {base_url(url, provider)}"]
            lines += [f"      api_key: {REFEREE_KEY}"]
    lines += [
        "router_settings:",
        "  num_retries: 0",
        "general_settings:",
        "  # Starts without a key",
    ]
    lines += ["  dangerously_permit_weak_or_unset_master_key: true", ""]
    return "\n".join(lines)


def portkey_header(url: str, models: Mapping[str, Back]) -> str:
    """Return the header that tells Portkey's gateway where each model is."""
    targets = [_portkey_target(url, name, back) for name, back in models.items()]
    conditions = [{"query": {"params.model": {"$eq": name}}, "then": name} for name in models]
    strategy = {"mode": "conditional", "conditions": conditions, "default": next(iter(models))}
    # Thinking is left out of Chat Completions unless this is false.
    found = {"strategy": strategy, "targets": targets, "strict_open_ai_compliance": False}
    return f"x-portkey-config: {msgspec.json.encode(found).decode()}"


def _portkey_target(url: str, name: str, back: Back) -> Json:
    provider, upstream = back.provider, find_upstream(back.provider)
    root = upstream.portkey_root
    target: dict[str, Json] = {
        "name": name,
        "provider": upstream.portkey or provider,
        "custom_host": base_url(url, provider) if root is None else f"{url}{root}",
        "api_key": REFEREE_KEY,
        "strict_open_ai_compliance": False,
        "override_params": {"model": back.name},
    }
    if upstream.needs_max_tokens:  # its API needs one, and Chat Completions has none
        target["override_params"]["max_tokens"] = MAX_TOKENS
    if upstream.aws:
        target |= {"aws_access_key_id": REFEREE_KEY, "aws_secret_access_key": REFEREE_KEY}
        target["aws_region"] = "us-east-1"
    return target


def rosetta_json(url: str, models: Mapping[str, Back]) -> str:
    """Return a config.jsonc for llm-rosetta's gateway; it has no Bedrock and no Cohere."""
    providers: dict[str, Json] = {}
    routes: dict[str, Json] = {}
    for name, back in models.items():
        provider, upstream = back.provider, find_upstream(back.provider)
        own = upstream.rosetta_root
        root = base_url(url, provider) if own is None else f"{url}{own}"
        shim = upstream.rosetta or provider
        providers[provider] = {"shim": shim, "api_key": REFEREE_KEY, "base_url": root}
        can = ["text", "tools", "reasoning", *(["vision"] if back.images else [])]
        routes[name] = {"provider": provider, "upstream_model": back.name, "capabilities": can}
    found = {"providers": providers, "models": routes, "server": {"open_on_no_keys": True}}
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def bare_urls(url: str, models: Mapping[str, Back]) -> str:
    """Return where each model is, for any other gateway."""
    lines = [
        f"{name} is {back.name} at {base_url(url, back.provider)}" for name, back in models.items()
    ]
    return "\n".join([*lines, f"key: {REFEREE_KEY} (any other does too)"])


POINTERS: dict[str, tuple[str, Callable[[str, Mapping[str, Back]], str]]] = {
    "urls": ("any gateway", bare_urls),
    "litellm": ("LiteLLM, config.yaml", litellm_yaml),
    "portkey": ("Portkey, as --header", portkey_header),
    "rosetta": ("llm-rosetta, config.jsonc", rosetta_json),
    "pondero": ("pondero, gateway.toml", pondero_toml),
}
"""The ways to point a gateway at the referee, by name."""


def point(kind: str, url: str, models: Mapping[str, Back]) -> str:
    """Return one configuration by its name."""
    if kind not in POINTERS:
        message = f"--config {kind}: unknown gateway; use {' '.join(POINTERS)}"
        raise BadParameter(message)
    return POINTERS[kind][1](url, models)


def describe_pointers(url: str, models: Mapping[str, Back]) -> str:
    """Return the block that says how to point a gateway at the referee."""
    blocks = [f"The referee is at {url}. Point the gateway there, for example:"]
    for title, write in (POINTERS[kind] for kind in ("urls", "litellm", "portkey")):
        indented = "\n".join(f"  {line}" for line in write(url, models).rstrip().splitlines())
        blocks.append(f"{title}:\n{indented}")
    return "\n\n".join(blocks)
