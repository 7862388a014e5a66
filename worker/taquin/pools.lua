--[[ Pools: ready boards by shape and band, for an app to hand out.

  P pool:<rows>x<cols>:<band>         set of JSON records; any client in any language may SPOP one.
                                      A goal other than blank-last is a third part of the name.
  P pools                             set: names of the pools that hold boards, so that nobody has to search for them
  P leases                            sorted set: claim -> when its lease is over
  P claims                            hash: claim -> pool, a line break, the record that was handed out
  P confirmed:<claim>                 string: there for a while after a confirmation, which may be repeated
  P filled:<name>                     string: there for a while after boards were added under this name
  P marks                             hash: <pool>|low, <pool>|high   its water marks
                                            <pool>|request            the request by which it is topped up, JSON
                                            <pool>|keep               how long such a job is kept, in milliseconds
                                            <pool>|chunk              boards in one chunk of such a job
                                            <pool>|job                the last such job
                                            <pool>|runs               how many there were
                                            <pool>|warned             the event that it is low is written
--]]

local CLAIM_SWEEP = 1000
local REPEATED = 60 * 1000 -- a call whose reply was lost is not repeated later than this
local REDELIVERED = 3600 * 1000 -- and a message hardly ever
local FUTILE = 5 * 60 * 1000 -- how long a pool is left alone for which too few boards were found

local function pool_key(pool)
  return prefix .. 'pool:' .. pool
end

local function mark(pool, name)
  return redis.call('HGET', prefix .. 'marks', pool .. '|' .. name)
end

-- Add records, a line each; a board that is there already is not added twice. -> how many are new
function pools.add(pool, records)
  local key, batch, added = pool_key(pool), {}, 0
  local function flush()
    if #batch > 0 then
      added = added + redis.call('SADD', key, unpack(batch))
      batch = {}
    end
  end
  for record in string.gmatch(records, '[^\n]+') do
    batch[#batch + 1] = record
    if #batch == 1000 then
      flush()
    end
  end
  flush()
  redis.call('SADD', prefix .. 'pools', pool)
  local low = mark(pool, 'low')
  if low and redis.call('SCARD', key) >= int(low) then
    redis.call('HDEL', prefix .. 'marks', pool .. '|warned')
  end
  return added
end

-- One job at a time tops a pool up to its high mark; its chunks are due at once, and a sweeper sends them.
local function refill(pool, left)
  local request = mark(pool, 'request')
  if not request then
    return
  end
  local last = mark(pool, 'job')
  if last then
    local fields = redis.call('HMGET', prefix .. 'job:' .. last, 'state', 'boards', 'pooled', 'finished')
    local state, boards, pooled, finished = unpack(fields, 1, 4)
    if state == 'sealed' then
      return
    end
    -- A small shape may have fewer boards of a band than the pool is to hold.
    if state == 'complete' and 2 * int(pooled) < int(boards) and now < int(finished) + FUTILE then
      return
    end
  end
  local runs = redis.call('HINCRBY', prefix .. 'marks', pool .. '|runs', 1)
  local job = 'refill-' .. pool .. '-' .. runs
  redis.call('HSET', prefix .. 'marks', pool .. '|job', job)
  jobs.open(job, request, mark(pool, 'keep'), 'sealed')
  local wanted, chunk, k = int(mark(pool, 'high')) - left, int(mark(pool, 'chunk')), 0
  while wanted > 0 do
    jobs.write_chunk(job, number(k), number(math.min(wanted, chunk)), '', '', 0)
    redis.call('HSET', work(job .. ':' .. number(k)), 'seq', 0)
    wanted, k = wanted - chunk, k + 1
  end
end

local function look_at_marks(pool)
  local low = mark(pool, 'low')
  local left = redis.call('SCARD', pool_key(pool))
  if low and left < int(low) then
    if redis.call('HSETNX', prefix .. 'marks', pool .. '|warned', 1) == 1 then
      event('pool.low', 'pool', pool, 'left', left, 'low', low)
    end
    refill(pool, left)
  end
  return left
end

local function give_back(claim)
  local held = redis.call('HGET', prefix .. 'claims', claim)
  redis.call('HDEL', prefix .. 'claims', claim)
  redis.call('ZREM', prefix .. 'leases', claim)
  if not held then
    return false
  end
  local pool, record = string.match(held, '^([^\n]*)\n(.*)$')
  redis.call('SADD', pool_key(pool), record)
  redis.call('SADD', prefix .. 'pools', pool)
  return true
end

local function give_back_expired()
  local over = redis.call('ZRANGEBYSCORE', prefix .. 'leases', '-inf', number(now), 'LIMIT', 0, CLAIM_SWEEP)
  for _, claim in ipairs(over) do
    give_back(claim)
  end
end

-- pool, claim, lease in milliseconds -> {boards left, record}, without a record when the pool is empty
function verbs.claim(pool, claim, lease)
  local held = redis.call('HGET', prefix .. 'claims', claim)
  if held then
    return {redis.call('SCARD', pool_key(pool)), string.match(held, '^[^\n]*\n(.*)$')}
  end
  give_back_expired()
  local record = redis.call('SPOP', pool_key(pool))
  local left = look_at_marks(pool)
  if left == 0 then
    redis.call('SREM', prefix .. 'pools', pool)
  end
  if not record then
    return {left}
  end
  redis.call('HSET', prefix .. 'claims', claim, pool .. '\n' .. record)
  redis.call('ZADD', prefix .. 'leases', number(now + tonumber(lease)), claim)
  return {left, record}
end

-- claim -> 1, or 0 if its lease is over or it was released
function verbs.confirm(claim)
  local lease = redis.call('ZSCORE', prefix .. 'leases', claim)
  if not lease then
    return redis.call('EXISTS', prefix .. 'confirmed:' .. claim)
  end
  if tonumber(lease) <= now then
    give_back(claim)
    return 0
  end
  redis.call('HDEL', prefix .. 'claims', claim)
  redis.call('ZREM', prefix .. 'leases', claim)
  redis.call('SET', prefix .. 'confirmed:' .. claim, 1, 'PX', REPEATED)
  return 1
end

-- claim -> 1, or 0 if its lease is over or it was ended before
function verbs.release(claim)
  return give_back(claim) and 1 or 0
end

-- pool, records a line each, a name for this call or '' -> how many are new
-- Under a name boards are added once: by a second time they may have been handed out.
function verbs.fill(pool, records, name)
  local done = prefix .. 'filled:' .. name
  if name ~= '' and redis.call('EXISTS', done) == 1 then
    return 0
  end
  local added = pools.add(pool, records)
  if name ~= '' then
    redis.call('SET', done, 1, 'PX', REDELIVERED)
  end
  return added
end

-- pool, low, high, request or '', milliseconds to keep a refill, boards a chunk
function verbs.set_marks(pool, low, high, request, keep, chunk)
  local marks = prefix .. 'marks'
  redis.call('HSET', marks, pool .. '|low', low, pool .. '|high', high, pool .. '|keep', keep, pool .. '|chunk', chunk)
  if request == '' then
    redis.call('HDEL', marks, pool .. '|request')
  else
    redis.call('HSET', marks, pool .. '|request', request)
  end
  redis.call('HDEL', marks, pool .. '|warned')
  return look_at_marks(pool)
end
