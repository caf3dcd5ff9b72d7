-- One step of a deployment's breaker, as breakers.Breakers takes it.
-- KEYS: all breakers. ARGV: time, step, name, failures, within, rest, probe, pause (in milliseconds).
local now, step, name = clock(ARGV[1]), ARGV[2], ARGV[3]
local failures, within = tonumber(ARGV[4]), tonumber(ARGV[5])
local rest, probe = tonumber(ARGV[6]), tonumber(ARGV[7])
local kept = redis.call('HGET', KEYS[1], name)
local breaker = kept and cjson.decode(kept) or {failed = {}}

-- A moment in the future is one that the clock has left behind by jumping back.
local function is_within(since, length)
  return since and now - since >= 0 and now - since < length
end

-- A probe whose process died tells nothing: after its time another may be made.
local probing = is_within(breaker.probing, probe)
rest = breaker.rest or rest  -- as long as its service asked for

local function keep()
  redis.call('HSET', KEYS[1], name, cjson.encode(breaker))
  -- A long pause of one account outlasts the failures of others.
  local left = math.max(600000, redis.call('PTTL', KEYS[1]))
  left = math.max(left, (breaker.paused or now) - now, (breaker.full or now) - now)
  redis.call('PEXPIRE', KEYS[1], left)
end

if step == 'pause' then
  -- An account that its service asked to wait; a longer pause stays.
  local paused = now + tonumber(ARGV[8])
  if not breaker.paused or breaker.paused < paused then breaker.paused = paused end
  keep()
  return breaker.paused
elseif step == 'resume' then
  -- An account that answers again.
  breaker.paused = nil
  if kept then keep() end
elseif step == 'full' then
  -- An account whose service reports nothing left; a later answer may tell otherwise.
  local length = tonumber(ARGV[8])
  breaker.full = length > 0 and now + length or nil
  keep()
  return breaker.full or 0
elseif step == 'open' then
  -- A service that fails and says for how long; a longer pause stays.
  local length = tonumber(ARGV[8])
  if not breaker.opened or now + length > breaker.opened + rest then
    breaker.opened, breaker.probing, breaker.rest = now, nil, length
    keep()
  end
elseif step == 'ask' then
  if not breaker.opened then return 0 end
  if probing or is_within(breaker.opened, rest) then return 1 end
  breaker.probing = now
  keep()
elseif step == 'failed' then
  local past = {}
  for _, each in ipairs(breaker.failed) do
    if each <= now then past[#past + 1] = each end
  end
  past[#past + 1] = now
  while #past > failures do table.remove(past, 1) end
  breaker.failed = past
  local often = #past == failures and now - past[1] <= within
  if probing or often then breaker.opened, breaker.probing, breaker.rest = now, nil, nil end
  keep()
elseif step == 'well' then
  -- An answer ends no pause that its service asked for.
  local is_held = (breaker.paused or 0) > now or (breaker.full or 0) > now
  if is_held then
    breaker = {failed = {}, paused = breaker.paused, full = breaker.full}
    keep()
  else
    redis.call('HDEL', KEYS[1], name)
  end
elseif kept then
  breaker.probing = nil
  keep()
end
return 0
