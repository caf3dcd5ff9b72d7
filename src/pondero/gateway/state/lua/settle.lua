-- Puts what a request really took in place of its reservation, once.
-- KEYS: epoch, replicas, reservations, then the counters. ARGV: time, epoch, the epoch of the reservation
-- (empty if Redis may not have it), id, 1 if it is sent for the first time, then for each counter:
-- rolling, per, amount, the slot to use without a reservation, what was reserved, and the birth of
-- the counter that this replica has seen, else empty.
-- Returns nothing in another epoch, or if a counter is lost, else 1.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local now, current, id = clock(ARGV[1]), ARGV[2] == ARGV[3], ARGV[4]
local reservation = KEYS[3] .. ':' .. id
local kept, reserved = redis.call('HGETALL', reservation), {}
for each = 1, #kept, 2 do reserved[kept[each]] = kept[each + 1] end

-- A reservation of this epoch is there until it is settled, unless it was removed alone.
local removed = current and #kept == 0
if reserved.settled or (removed and ARGV[5] ~= '1') then return 1 end

for number = 4, #KEYS do
  if is_lost(KEYS[number], ARGV[6 * number - 13]) then return false end
end
for number = 4, #KEYS do
  local at = 6 * number - 18
  local counter, per, _, carried = follow(KEYS[number], ARGV[at + 1], 0, now)
  local span, amount = window(ARGV[at], per, now), tonumber(ARGV[at + 2])
  local slot, before = tonumber(ARGV[at + 3]), removed and tonumber(ARGV[at + 4]) or 0
  if reserved[KEYS[number]] then
    local held, born
    slot, held, born = string.match(reserved[KEYS[number]], '^(%d+):(%d+):?(%d*)$')
    slot = tonumber(slot)
    -- A counter that began again does not have it, unless it was given back.
    if born == birth(counter) then
      before = tonumber(held)
    elseif carried and born == birth(KEYS[number]) then
      slot, before = carried_slot(slot, ARGV[at + 1], per, carried), tonumber(held)
    end
  elseif carried then
    slot = carried_slot(slot, ARGV[at + 1], per, carried)
  end
  local counts = slot >= span.since and slot <= span.last
  if counts or redis.call('HEXISTS', counter, whole(slot)) == 1 then
    add(counter, span, slot, amount - before)
  end
end
redis.call('DEL', reservation)
redis.call('HSET', reservation, 'settled', 1)
redis.call('PEXPIRE', reservation, whole(current and AGAIN or LATE))
return 1
