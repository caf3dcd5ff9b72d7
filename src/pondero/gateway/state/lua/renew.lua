-- Counts a reservation from now, because its request is sent only now: time has passed since it was
-- made. KEYS: epoch, reservations, then the counters. ARGV: time, epoch, id, then for each counter:
-- rolling, per.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local now, reservation = clock(ARGV[1]), KEYS[2] .. ':' .. ARGV[3]
for number = 3, #KEYS do
  local at = 2 * number - 2
  local counter, per, _, carried = follow(KEYS[number], ARGV[at + 1], 0, now)
  local span = window(ARGV[at], per, now)
  local held = redis.call('HGET', reservation, KEYS[number]) or ''
  local slot, amount, born = string.match(held, '^(%d+):(%d+):?(%d*)$')
  slot = tonumber(slot)
  if slot and carried and born ~= birth(counter) and born == birth(KEYS[number]) then
    slot, born = carried_slot(slot, ARGV[at + 1], per, carried), birth(counter)
  end
  -- A counter that began again does not have it. One that has forgotten the slot has another clock.
  if slot and slot < span.slot and born == birth(counter)
    and redis.call('HEXISTS', counter, whole(slot)) == 1 then
    add(counter, span, slot, -tonumber(amount))
    add(counter, span, span.slot, tonumber(amount))
    redis.call('HSET', reservation, KEYS[number], whole(span.slot) .. ':' .. amount .. ':' .. born)
  end
end
return 1
