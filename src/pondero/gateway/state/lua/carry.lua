-- Moves the counts of a rolling window to a counter of another length or name. Replicas that read the
-- same configuration each send it: what was moved is not there any more.
-- KEYS: the counter before, the one after. ARGV: time, the periods of both.
local now = clock(ARGV[1])
local before, after = window('1', ARGV[2], now), window('1', ARGV[3], now)
for slot, count in pairs(slots_of(KEYS[1])) do
  redis.call('HDEL', KEYS[1], whole(slot))
  if slot >= before.since and slot <= before.last then
    -- Use counts from the end of its slot, which is no earlier than it was.
    local at = math.min(now, (slot + 1) * LENGTHS[ARGV[2]] / SLOTS - 1)
    local new = math.floor(at / (LENGTHS[ARGV[3]] / SLOTS))
    if new >= after.since then add(KEYS[2], after, new, count) end
  end
end
return 1
