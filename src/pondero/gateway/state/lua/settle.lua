-- Puts what a request really took in place of its reservation, where that has not expired.
-- KEYS: reservations, then the counters. ARGV: time, id, then for each counter: rolling, per, amount.
local now, id = clock(ARGV[1]), ARGV[2]
local reservation = KEYS[1] .. ':' .. id

if redis.call('HEXISTS', reservation, 'settled') == 1 then return end  -- sent twice

for number = 2, #KEYS do
  local at = 3 * (number - 1)
  local span, amount = window(ARGV[at], ARGV[at + 1], now), tonumber(ARGV[at + 2])
  local kept = redis.call('HGET', reservation, KEYS[number])
  if kept then
    local slot, before = string.match(kept, '^(%d+):(%d+)$')
    if tonumber(slot) >= span.since or redis.call('HEXISTS', KEYS[number], slot) == 1 then
      add(KEYS[number], span, tonumber(slot), amount - tonumber(before))
    end
  else
    add(KEYS[number], span, span.slot, amount)
  end
end
redis.call('DEL', reservation)
redis.call('HSET', reservation, 'settled', 1)
redis.call('PEXPIRE', reservation, 60000)
redis.call('ZREM', KEYS[1], id)
