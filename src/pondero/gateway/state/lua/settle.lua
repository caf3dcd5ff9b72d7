-- Puts what a request really took in place of its reservation, once.
-- KEYS: epoch, reservations, then the counters. ARGV: time, epoch, the epoch of the reservation
-- (empty if Redis may not have it), id, then for each counter: rolling, per, amount, and the slot to
-- use without a reservation. Returns nothing in another epoch, else 1.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local now, current, id = clock(ARGV[1]), ARGV[2] == ARGV[3], ARGV[4]
local reservation = KEYS[2] .. ':' .. id
local kept, reserved = redis.call('HGETALL', reservation), {}
for each = 1, #kept, 2 do reserved[kept[each]] = kept[each + 1] end

-- Sent twice: a reservation of this epoch is there until it is settled.
if reserved.settled or (current and #kept == 0) then return 1 end

for number = 3, #KEYS do
  local at = 4 * (number - 2) + 1
  local span, amount = window(ARGV[at], ARGV[at + 1], now), tonumber(ARGV[at + 2])
  local slot, before = tonumber(ARGV[at + 3]), 0
  if reserved[KEYS[number]] then
    slot, before = string.match(reserved[KEYS[number]], '^(%d+):(%d+)$')
    slot, before = tonumber(slot), tonumber(before)
  end
  local counts = slot >= span.since and slot <= span.last
  if counts or redis.call('HEXISTS', KEYS[number], whole(slot)) == 1 then
    add(KEYS[number], span, slot, amount - before)
  end
end
redis.call('DEL', reservation)
if not current then
  redis.call('HSET', reservation, 'settled', 1)
  redis.call('PEXPIRE', reservation, whole(LATE))
end
return 1
