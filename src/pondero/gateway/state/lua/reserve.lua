-- Takes all of some amounts for a request, or none of them. A reservation has no end: if its worker
-- dies, the service may have served the request, so it counts as used until it is settled.
-- KEYS: epoch, reservations, then the counters. ARGV: time, epoch, id, then for each counter:
-- rolling, per, most, amount. Returns nothing in another epoch; 1, the time, and the slot and count
-- of each counter; or 0, the time, the counter that has no room for the longest, its slot, its
-- count, and in how many milliseconds there is room.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local now, id = clock(ARGV[1]), ARGV[3]
local reservation = KEYS[2] .. ':' .. id
local again = redis.call('EXISTS', reservation) == 1  -- sent twice, or released before it came

local function count_slots(counter, span, rolling)
  if rolling ~= '1' then
    return {span.slot}, {[span.slot] = tonumber(redis.call('HGET', counter, whole(span.slot)) or '0')}
  end
  local kept, slots, counts = redis.call('HGETALL', counter), {}, {}
  for each = 1, #kept, 2 do
    local slot = tonumber(kept[each])
    if slot >= span.since and slot <= span.last then
      slots[#slots + 1], counts[slot] = slot, tonumber(kept[each + 1])
    end
  end
  table.sort(slots)
  return slots, counts
end

local spans, taken, worst = {}, {}, nil
for number = 3, #KEYS do
  local at = 4 * (number - 2)
  local most, amount = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local span = window(ARGV[at], ARGV[at + 1], now)
  local slots, counts = count_slots(KEYS[number], span, ARGV[at])
  local sum = 0
  for _, slot in ipairs(slots) do sum = sum + counts[slot] end
  spans[number], taken[number] = span, sum
  local over = sum + amount - most
  if over > 0 and amount > 0 and not again then
    local free = span.ends(span.slot)
    for _, slot in ipairs(slots) do
      over = over - counts[slot]
      if over <= 0 then
        free = span.ends(slot)
        break
      end
    end
    if worst == nil or free - now > worst[3] then worst = {number, sum, free - now} end
  end
end
if worst then
  local slot = spans[worst[1]].slot
  return {0, whole(now), worst[1] - 3, whole(slot), whole(worst[2]), whole(worst[3])}
end

local answer = {1, whole(now)}
for number = 3, #KEYS do
  local amount, span = tonumber(ARGV[4 * (number - 2) + 3]), spans[number]
  if not again then
    add(KEYS[number], span, span.slot, amount)
    redis.call('HSET', reservation, KEYS[number], whole(span.slot) .. ':' .. whole(amount))
    taken[number] = taken[number] + amount
  end
  answer[#answer + 1] = whole(span.slot)
  answer[#answer + 1] = whole(taken[number])
end
if not again then redis.call('PEXPIRE', reservation, whole(LATE)) end
return answer
