"""The configuration that each gateway of the bench starts with."""

OURS = """
[provider.anthropic]
url = "{upstream}"
key = "env:BENCH_KEY"

[provider.openai]
url = "{upstream}"
key = "env:BENCH_KEY"

[provider.openai-chat]
url = "{upstream}"
key = "env:BENCH_KEY"

[provider.deepseek]
url = "{upstream}"
key = "env:BENCH_KEY"

[provider.google]
url = "{upstream}"
key = "env:BENCH_KEY"

[server]
{server}
{more}
"""
UNRECORDED = """
ledger = "off"
log = "off"
"""
KEYED = """
[[key]]
name = "bench"
hash = "{hashed}"
{bounds}
"""
QUOTAS = """
limit = { requests = 100000000, tokens = 1000000000000, per = "minute" }
budget = { cost = 100000000, thinking_tokens = 1000000000000, per = "month" }
"""
LITELLM = """
model_list:
  - model_name: claude-opus-5
    litellm_params:
      model: anthropic/claude-opus-5
      api_base: {upstream}
      api_key: sk-bench
general_settings:
  master_key: sk-bench
"""
ENVOY = """
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": "{v3}.filters.network.http_connection_manager.v3.HttpConnectionManager"
          stat_prefix: bench
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {{prefix: "/"}}
                route: {{cluster: service, prefix_rewrite: "{path}/", timeout: 0s}}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": "{v3}.filters.http.router.v3.Router"}}
  clusters:
  - name: service
    load_assignment:
      cluster_name: service
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: "{host}", port_value: {to}}}}}}}
"""
ENVOY_TYPES = "type.googleapis.com/envoy.extensions"
TENSORZERO = """
[gateway]
observability.enabled = false

[models.claude-opus-5]
routing = ["service"]

[models.claude-opus-5.providers.service]
type = "anthropic"
model_name = "claude-opus-5"
api_base = "{upstream}/v1"
api_key_location = "env::BENCH_KEY"

[models.deepseek-reasoner]
routing = ["service"]

[models.deepseek-reasoner.providers.service]
type = "openai"
model_name = "deepseek-reasoner"
api_base = "{upstream}/v1/"
api_key_location = "env::BENCH_KEY"
"""
# TensorZero's package serves HTTP inside a process of Python, on a port that it chooses itself.
TENSORZERO_PROGRAM = """
import pathlib, signal, sys
from tensorzero import tensorzero
config, address = sys.argv[1:]
served = tensorzero._start_http_gateway(
    config_file=config, clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
pathlib.Path(address).write_text(served.base_url.removesuffix("/v1"))
signal.pause()
"""
