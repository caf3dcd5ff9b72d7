-- Counts a reservation from now, because its request is sent only now: time has passed since it was
-- made. KEYS: epoch, reservations, then the counters. ARGV: time, epoch, id, then for each counter:
-- rolling, per.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local now, reservation = clock(ARGV[1]), KEYS[2] .. ':' .. ARGV[3]
for number = 3, #KEYS do
  local counter, at = KEYS[number], 2 * number - 2
  local span = window(ARGV[at], ARGV[at + 1], now)
  local held = redis.call('HGET', reservation, counter) or ''
  local slot, amount, born = string.match(held, '^(%d+):(%d+):?(%d*)$')
  slot = tonumber(slot)
  -- A counter that began again does not have it. One that has forgotten the slot has another clock.
  if slot and slot < span.slot and born == birth(counter)
    and redis.call('HEXISTS', counter, whole(slot)) == 1 then
    add(counter, span, slot, -tonumber(amount))
    add(counter, span, span.slot, tonumber(amount))
    redis.call('HSET', reservation, counter, whole(span.slot) .. ':' .. amount .. ':' .. born)
  end
end
return 1
