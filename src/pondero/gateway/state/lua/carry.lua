-- Moves the counts of a rolling window to a counter of another length or name. Replicas that read the
-- same configuration each send it: what was moved is not there any more.
-- KEYS: the counter before, the one after. ARGV: time, the periods of both, the maximum after.
local now = clock(ARGV[1])
local before, after = window('1', ARGV[2], now), window('1', ARGV[3], now)
for slot, count in pairs(slots_of(KEYS[1])) do
  redis.call('HDEL', KEYS[1], whole(slot))
  if slot >= before.since and slot <= before.last then
    -- Use counts from the end of its slot, which is no earlier than it was.
    local new = carried_slot(slot, ARGV[2], ARGV[3], now)
    if new >= after.since then add(KEYS[2], after, new, count) end
  end
end
-- Others that have not reloaded yet ask for the counter before.
redis.call('HSET', KEYS[1], 'after', whole(now) .. ':' .. ARGV[4] .. ':' .. ARGV[3] .. ':' .. KEYS[2])
redis.call('PEXPIRE', KEYS[1], whole(UNUSED))
redis.call('HDEL', KEYS[2], 'after')
return 1
