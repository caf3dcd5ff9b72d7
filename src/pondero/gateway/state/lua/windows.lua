-- What every script begins with: the time, and which slots count (as quota.window says it).
local SLOTS = 50
local LENGTHS = {second = 1000, minute = 60000, hour = 3600000, day = 86400000, week = 604800000}
local DAY = LENGTHS.day
-- Services count when a request arrives: spans of their limits are longer by its time on the way.
for _, per in ipairs({'second', 'minute', 'hour', 'day'}) do
  LENGTHS[per .. ' after arrival'] = LENGTHS[per] + 250
end

-- The clock of Redis is the one clock of all replicas; a test may give another.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The day of the month of a day since 1970, in the calendar that begins its years with March.
local function day_of_month(day)
  local since = (day + 719468) % 146097
  local year = math.floor((since - math.floor(since / 1460) + math.floor(since / 36524)
    - math.floor(since / 146096)) / 365)
  local of_year = since - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153)
  return of_year - math.floor((153 * month + 2) / 5) + 1
end

local function turn(per, now)
  local day = math.floor(now / DAY)
  if per == 'month' then
    local first = day - day_of_month(day) + 1
    local beyond = first + 31
    return first * DAY, (beyond - day_of_month(beyond) + 1) * DAY
  end
  local shift = per == 'week' and 3 * DAY or 0
  local start = now - (now + shift) % LENGTHS[per]
  return start, start + LENGTHS[per]
end

-- The slots from since to last count. Slots of a rolling window may be in the future, where a clock
-- that jumped back has left them; for at most one length, so that none locks a client out for ever.
local function window(rolling, per, now)
  if rolling == '1' then
    local width = LENGTHS[per] / SLOTS
    local slot = math.floor(now / width)
    return {since = slot - SLOTS, slot = slot, last = slot + SLOTS, ends = function(each)
      return (each + SLOTS + 1) * width
    end}
  end
  local start, last = turn(per, now)
  return {since = start, slot = start, last = start, ends = function() return last end}
end

local function whole(number) return string.format('%.0f', number) end

-- What counts for the limit of an account since a reload gave it another name or period, for a
-- minute: until all replicas have reloaded, and requests that had begun are sent. Returns the counter,
-- its period and maximum, and when its counts were carried there.
local FOLLOWED = 60 * LENGTHS.second
local function follow(counter, per, most, now)
  local carried = nil
  if not string.find(per, ' after arrival', 1, true) then return counter, per, most, carried end
  for _ = 1, 8 do
    local after = redis.call('HGET', counter, 'after') or ''
    local since, limit, span, name = string.match(after, '^(%d+):(%d+):([^:]+):(.+)$')
    if not since or math.abs(now - tonumber(since)) > FOLLOWED then break end
    counter, per, most, carried = name, span, tonumber(limit), tonumber(since)
  end
  return counter, per, most, carried
end

-- The slot in which a count goes on that was made before it was carried.
local function carried_slot(slot, before, after, carried)
  local at = math.min(carried, (slot + 1) * LENGTHS[before] / SLOTS - 1)
  return math.floor(at / (LENGTHS[after] / SLOTS))
end

-- A name that nothing had before, in digits. It is Redis's own time, also if a test gives another.
local function new_name()
  local time = redis.call('TIME')
  return whole(time[1] * 1000000 + time[2])
end

-- A counter is a hash: its counts by slot; when it was born; and what replicas gave back, by slot, or
-- in sum if its window is rolling. One that was removed and began again has another birth, so a
-- replica notices that what it saw is lost.
local function birth(counter) return redis.call('HGET', counter, 'born') or '0' end

local function given(rolling, slot) return rolling == '1' and 'given' or 'given:' .. whole(slot) end

local function slots_of(counter)
  local kept, counts = redis.call('HGETALL', counter), {}
  for each = 1, #kept, 2 do
    local slot = tonumber(kept[each])
    if slot then counts[slot] = tonumber(kept[each + 1]) end
  end
  return counts
end

-- Returns how many milliseconds ago a lost counter gave the data this name.
local function age(epoch)
  local since = string.match(epoch, '^lost:(%d+)$')
  local passed = since and (tonumber(new_name()) - tonumber(since)) / 1000 or -1
  return passed >= 0 and passed or math.huge
end

-- Returns whether a counter lost what a replica saw. Then the data get a new name (KEYS[1]), so that
-- every replica (KEYS[2] has the name that each knows) gives back what it saw. A replica that had
-- time enough for the last loss, and does not know of it, is gone.
local GONE = 10 * LENGTHS.second
local function is_lost(counter, seen)
  if seen == '' or birth(counter) == seen then return false end
  local epoch, known = redis.call('GET', KEYS[1]), redis.call('HGETALL', KEYS[2])
  for each = 1, #known, 2 do
    if known[each + 1] ~= epoch and age(epoch) > GONE then redis.call('HDEL', KEYS[2], known[each]) end
  end
  redis.call('SET', KEYS[1], 'lost:' .. new_name())
  return true
end

-- Old slots are kept, because a clock that jumps forward may jump back; the farthest go first. A
-- counter expires by itself long after its last use.
local KEPT, UNUSED = 2 * SLOTS, 400 * DAY
local function add(counter, span, slot, amount)
  if birth(counter) == '0' then redis.call('HSET', counter, 'born', new_name()) end
  redis.call('HINCRBY', counter, whole(slot), whole(amount))
  redis.call('PEXPIRE', counter, whole(UNUSED))
  if redis.call('HLEN', counter) <= KEPT + 2 then return end  -- with its birth and a sum
  local farthest, distance, many = nil, -1, 0
  for each in pairs(slots_of(counter)) do
    local away = math.abs(each - span.slot)
    many = many + 1
    if away > distance then farthest, distance = each, away end
  end
  if many > KEPT then redis.call('HDEL', counter, whole(farthest), 'given:' .. whole(farthest)) end
end

-- A reservation, or the mark that a request is settled, is kept so long for a late answer; the mark
-- of one that Redis had, as long as a client that got no answer may send it again.
local LATE, AGAIN = 35 * DAY, LENGTHS.minute
