-- Takes all of some amounts for a request, or none of them. A reservation has no end: if its worker
-- dies, the service may have served the request, so it counts as used until it is settled.
-- KEYS: epoch, replicas, reservations, then the counters, then cached answers that the request
-- continues. ARGV: time, epoch, id, this replica, 1 if it is in the list of replicas, for how many
-- milliseconds after a loss it waits for the others, the number of counters, then for each counter:
-- rolling, per, most, amount, how much more for each byte of the cached answers, the slot of a request
-- that was admitted without Redis, else empty, and the birth of the counter that this replica has
-- seen, else empty.
-- Returns nothing in another epoch, or if a counter is lost; an empty list while another replica has
-- not yet given back what it saw; 1, the time, and the slot, count, birth and amount of each counter;
-- or 0, the time, the counter that has no room for the longest, its slot, its count, its birth, the
-- amount, and in how many milliseconds there is room.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end
local last = 3 + tonumber(ARGV[7])
local function place(number) return 7 * number - 20 end  -- of the first argument of a counter
for number = 4, last do
  if is_lost(KEYS[number], ARGV[place(number) + 6]) then return false end
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

local bytes = 0
for number = last + 1, #KEYS do bytes = bytes + redis.call('STRLEN', KEYS[number]) end

-- A request that may take more than a limit has in all goes alone.
local function find_amount(at, most)
  local amount = tonumber(ARGV[at + 3])
  if most ~= tonumber(ARGV[at + 2]) then amount = math.min(amount, most) end  -- it was more before
  local more = math.ceil(tonumber(ARGV[at + 4]) * bytes)
  if ARGV[at] == '1' then return math.max(amount, math.min(amount + more, most)) end
  return amount + more
end

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

local spans, taken, amounts, counters, worst = {}, {}, {}, {}, nil
for number = 4, last do
  local at = place(number)
  local counter, per, most = follow(KEYS[number], ARGV[at + 1], tonumber(ARGV[at + 2]), now)
  local amount, span = find_amount(at, most), window(ARGV[at], per, now)
  local slots, counts = count_slots(counter, span, ARGV[at])
  counters[number] = counter
  local sum = 0
  for _, slot in ipairs(slots) do sum = sum + counts[slot] end
  spans[number], taken[number], amounts[number] = span, sum, amount
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
  local asked_for = window(ARGV[place(number)], ARGV[place(number) + 1], now)
  local slot, born = asked_for.slot, birth(KEYS[number])
  local asked = whole(amounts[number])
  return {0, whole(now), number - 4, whole(slot), whole(sum), born, asked, whole(wait)}
end

local answer = {1, whole(now)}
for number = 4, last do
  local at, span, amount = place(number), spans[number], amounts[number]
  local slot = tonumber(ARGV[at + 5]) or span.slot
  local counter = counters[number]
  if again then
    local held = redis.call('HGET', reservation, KEYS[number])
    amount = tonumber(held and string.match(held, '^%d+:(%d+)') or amount)
  else
    add(counter, span, slot, amount)
    local held = whole(slot) .. ':' .. whole(amount) .. ':' .. birth(counter)
    redis.call('HSET', reservation, KEYS[number], held)
    taken[number] = taken[number] + amount
  end
  if counter ~= KEYS[number] then slot = window(ARGV[at], ARGV[at + 1], now).slot end
  answer[#answer + 1] = whole(slot)
  answer[#answer + 1] = whole(taken[number])
  answer[#answer + 1] = birth(KEYS[number])
  answer[#answer + 1] = whole(amount)
end
if not again then redis.call('PEXPIRE', reservation, whole(LATE)) end
return answer
