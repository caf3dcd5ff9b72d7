-- Takes all of some amounts for a request, or none of them. A reservation has no end: if its worker
-- dies, the service may have served the request, so it counts as used until it is settled.
-- KEYS: epoch, replicas, reservations, then the counters. ARGV: time, epoch, id, this replica, 1 if
-- it is in the list of replicas, for how many milliseconds after a loss it waits for the others, then
-- for each counter:
-- rolling, per, most, amount, the slot of a request that was admitted without Redis, else empty, and
-- the birth of the counter that this replica has seen, else empty.
-- Returns nothing in another epoch, or if a counter is lost; an empty list while another replica has
-- not yet given back what it saw; 1, the time, and the slot, count and birth of each counter; or 0, the time, the counter that has no room for the longest, its slot, its
-- count, its birth, and in how many milliseconds there is room.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
for number = 4, #KEYS do
  if is_lost(KEYS[number], ARGV[6 * number - 12]) then return false end
end
local waits = age(ARGV[2]) < tonumber(ARGV[6])
if redis.call('HSET', KEYS[2], ARGV[4], ARGV[2]) == 1 and ARGV[5] == '1' then
  -- The list was lost: others may be missing in it, and are waited for, now or at the next loss.
  redis.call('HSET', KEYS[2], 'unknown', waits and '' or ARGV[2])
end
if waits then
  for _, each in ipairs(redis.call('HVALS', KEYS[2])) do
    if each ~= ARGV[2] then return {} end
  end
end
local now, id = clock(ARGV[1]), ARGV[3]
local reservation = KEYS[3] .. ':' .. id
local again = redis.call('EXISTS', reservation) == 1  -- sent twice, or released before it came

local function count_slots(counter, span, rolling)
  if rolling ~= '1' then
    return {span.slot}, {[span.slot] = tonumber(redis.call('HGET', counter, whole(span.slot)) or '0')}
  end
  local slots, counts = {}, slots_of(counter)
  for slot in pairs(counts) do
    if slot >= span.since and slot <= span.last then slots[#slots + 1] = slot end
  end
  table.sort(slots)
  return slots, counts
end

local spans, taken, worst = {}, {}, nil
for number = 4, #KEYS do
  local at = 6 * number - 17
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
  local number, sum, wait = unpack(worst)
  local slot, born = spans[number].slot, birth(KEYS[number])
  return {0, whole(now), number - 4, whole(slot), whole(sum), born, whole(wait)}
end

local answer = {1, whole(now)}
for number = 4, #KEYS do
  local at, span = 6 * number - 17, spans[number]
  local amount, slot = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]) or span.slot
  if not again then
    add(KEYS[number], span, slot, amount)
    local place = whole(slot) .. ':' .. whole(amount) .. ':' .. birth(KEYS[number])
    redis.call('HSET', reservation, KEYS[number], place)
    taken[number] = taken[number] + amount
  end
  answer[#answer + 1] = whole(slot)
  answer[#answer + 1] = whole(taken[number])
  answer[#answer + 1] = birth(KEYS[number])
end
if not again then redis.call('PEXPIRE', reservation, whole(LATE)) end
return answer
