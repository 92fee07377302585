/** The scenarios of the ledger: one line per operation and what it has to answer. */
import type { Scenario } from './ledger-scenarios.ts';

export const scenarios: readonly Scenario[] = [
  {
    name: 'a settled hold never settles again',
    lines: `
      top_up pay 100        -> credited
      place a 60            -> placed
      settle a 25           -> settled
      settle a 25           -> settled
      settle a 26           -> already settled 25
      release a             -> already settled 25
      renew a               -> already settled 25
      + 3m
      alarm
      place a 60            -> placed
      place a 61            -> id_conflict
      books                 -> 75 0 25 0
      reviews               ->
      audit                 -> clean`,
  },
  {
    name: 'of many calls at once only as many are placed as there is money for (C063)',
    lines: `
      top_up pay 100        -> credited
      place a 60            -> placed
      place b 60            -> insufficient_balance 40/60
      place c 40            -> placed
      place d 1             -> insufficient_balance 0/1
      place e 0             -> placed
      release a             -> released
      place b 60            -> placed
      books                 -> 0 100 0 0
      audit                 -> clean`,
  },
  {
    name: 'a call that costs more than its hold is charged whole; the next is refused (C064)',
    lines: `
      top_up pay 10         -> credited
      place a 10            -> placed
      settle a 25           -> settled
      books                 -> -15 0 25 15
      place b 10            -> insufficient_balance -15/10
      place c 0             -> placed
      top_up more 20        -> credited
      books                 -> 5 0 25 0
      place b 5             -> placed
      audit                 -> clean`,
  },
  {
    name: 'refused sessions leave no hold behind (C020)',
    lines: `
      top_up pay 80         -> credited
      place a 40            -> placed
      release a             -> released
      place b 40            -> placed
      release b             -> released
      release b             -> released
      settle b 5 estimate   -> already released 0
      books                 -> 80 0 0 0
      place c 40            -> placed`,
  },
  {
    name: 'promotional money burns first, purchased last, and what is left goes back where it was',
    lines: `
      top_up pay 50              -> credited
      grant old promotional 10   -> credited
      grant won earned 20        -> credited
      grant new promotional 5    -> credited
      place a 40                 -> placed
      blocks                     -> old:0+10 new:0+5 won:0+20 pay:45+5
      settle a 12                -> settled
      blocks                     -> new:3+0 won:20+0 pay:50+0
      place b 30                 -> placed
      settle b 60                -> settled
      blocks                     -> pay:13+0
      books                      -> 13 0 72 0
      audit                      -> clean`,
  },
  {
    name: 'a repeated top-up is booked once; another amount under its id is a conflict',
    lines: `
      top_up pay 100             -> credited
      top_up pay 100             -> credited
      top_up pay 101             -> id_conflict
      grant pay promotional 100  -> id_conflict
      restart
      top_up pay 100             -> credited
      top_up none 0              -> invalid
      books                      -> 100 0 0 0`,
  },
  {
    name: 'a hold ends with its lease, in the caller’s favour, and is listed for review',
    lines: `
      top_up pay 100        -> credited
      place a 60            -> placed
      + 119s
      alarm
      books                 -> 40 60 0 0
      renew a               -> renewed
      + 119s
      alarm
      books                 -> 40 60 0 0
      + 1s
      alarm
      alarm
      books                 -> 100 0 0 0
      reviews               -> a:60
      renew a               -> already expired 0
      release a             -> already expired 0
      audit                 -> clean`,
  },
  {
    name: 'a completed call after the expiry is charged once, and answers the review',
    lines: `
      top_up pay 50         -> credited
      place a 40            -> placed
      + 2m
      alarm
      place b 50            -> placed
      settle a 30 estimate  -> already expired 0
      settle a 30           -> late_settled
      settle a 30           -> late_settled
      settle a 31           -> already expired 0 late 30
      books                 -> -30 50 30 30
      reviews               -> a:40:late_settle
      settle b 50           -> settled
      books                 -> -30 0 80 30
      audit                 -> clean`,
  },
  {
    name: 'after a restart an open hold has one fresh lease, then it ends',
    lines: `
      top_up pay 100        -> credited
      place a 60            -> placed
      + 1h
      restart
      alarm
      books                 -> 40 60 0 0
      + 119s
      restart
      alarm
      books                 -> 40 60 0 0
      + 1s
      alarm
      books                 -> 100 0 0 0
      reviews               -> a:60`,
  },
  {
    name: 'the daily cap counts what is settled today and every open hold; midnight resets it',
    lines: `
      top_up pay 1000       -> credited
      cap 100               -> configured
      place a 60            -> placed
      place b 41            -> daily_cap
      place b 40            -> placed
      settle a 10           -> settled
      place c 51            -> daily_cap
      place c 50            -> placed
      settle b 70           -> settled
      place d 0             -> placed
      place e 1             -> daily_cap
      release c             -> released
      place f 20            -> placed
      + 4h
      place g 80            -> placed
      place h 1             -> daily_cap
      audit                 -> clean`,
  },
  {
    name: 'a key has its calls per day, and a refused call is not counted',
    lines: `
      top_up pay 10                  -> credited
      place a 1 key=key_a cap=2      -> placed
      place b 99 key=key_a cap=2     -> insufficient_balance 9/99
      place c 1 key=key_a cap=2      -> placed
      place c 1 key=key_a cap=2      -> placed
      place d 1 key=key_a cap=2      -> key_call_cap
      place e 1 key=key_b cap=2      -> placed
      release a                      -> released
      place d 1 key=key_a cap=2      -> key_call_cap
      + 4h
      place d 1 key=key_a cap=2      -> placed`,
  },
  {
    name: 'a tag value has its own budget',
    lines: `
      top_up pay 1000                          -> credited
      budget team day 50 - blocked=evil        -> configured
      budget job total - 2                     -> configured
      place a 30 tag=team:x tag=job:1          -> placed
      place b 21 tag=team:x                    -> tag_spend_cap team:x
      place b 21 tag=team:y                    -> placed
      place c 1 tag=team:evil                  -> tag_blocked team:evil
      settle a 45                              -> settled
      place d 6 tag=team:x                     -> tag_spend_cap team:x
      place d 5 tag=team:x tag=job:1           -> placed
      place e 0 tag=job:1                      -> tag_call_cap job:1
      place e 0                                -> placed
      + 4h
      place f 40 tag=team:x                    -> placed
      place g 0 tag=job:1                      -> tag_call_cap job:1
      audit                                    -> clean`,
  },
  {
    name: 'a key of the caller is executed once and replayed (C066, C068, C069)',
    lines: `
      top_up pay 100                      -> credited
      cap 60                              -> configured
      place a 60 claim=r1/p/k/f           -> placed
      place b 60 claim=r2/p/k/f           -> in_progress
      place b 60 claim=r2/p/k/g           -> mismatch
      settle a 25                         -> settled
      record r1 201 25                    -> recorded
      record r1 500 1                     -> recorded
      place b 60 claim=r2/p/k/f           -> replay 201 25
      place b 60 claim=r2/p/k/g           -> mismatch
      place c 30 claim=r3/q/k/f           -> placed
      free r1                             -> closed recorded
      release c                           -> released
      free r3                             -> freed
      free r3                             -> freed
      place d 10 claim=r4/q/k/h           -> placed
      release d                           -> released
      unknown r4                          -> marked_unknown
      place e 10 claim=r5/q/k/h           -> outcome_unknown
      + 23h
      place e 10 claim=r5/q/k/h           -> outcome_unknown
      place b 60 claim=r2/p/k/f           -> replay 201 25
      + 1h
      place b 60 claim=r2/p/k/f           -> placed
      audit                               -> clean`,
  },
  {
    name: 'a claim whose owner is silent is unknown until an operator decides',
    lines: `
      top_up pay 100                  -> credited
      place a 60 claim=r1/p/k/f       -> placed
      + 1m
      renew a                         -> renewed
      + 119s
      place b 1 claim=r2/p/k/f        -> in_progress
      + 1s
      place b 1 claim=r2/p/k/f        -> outcome_unknown
      alarm
      reviews                         -> a:60
      resolve r1 settle               -> resolved 60
      resolve r1 settle               -> not_unknown
      books                           -> 40 0 60 0
      reviews                         -> a:60:late_settle
      place b 1 claim=r2/p/k/f        -> outcome_unknown
      place c 9 claim=r3/p/l/f        -> placed
      unknown r3                      -> marked_unknown
      resolve r3 free                 -> resolved 0
      books                           -> 40 0 60 0
      place d 9 claim=r4/p/l/f        -> placed
      record r3 200 9                 -> unknown_record
      audit                           -> clean`,
  },
  {
    name: 'the owner that comes back late knows better than "unknown"',
    lines: `
      top_up pay 100                  -> credited
      place a 60 claim=r1/p/k/f       -> placed
      + 2m
      alarm
      place b 1 claim=r2/p/k/f        -> outcome_unknown
      settle a 33                     -> late_settled
      record r1 200 33                -> recorded
      place b 1 claim=r2/p/k/f        -> replay 200 33
      resolve r1 free                 -> not_unknown
      books                           -> 67 0 33 0`,
  },
  {
    name: 'a clock that goes back stands still',
    lines: `
      top_up pay 100        -> credited
      cap 50                -> configured
      place a 50            -> placed
      + 1m
      renew a               -> renewed
      + -23h
      renew a               -> renewed
      + 23h
      + 119s
      alarm
      books                 -> 50 50 0 0
      + 1s
      alarm
      books                 -> 100 0 0 0
      place b 50            -> placed
      + -24h
      place c 1             -> daily_cap
      audit                 -> clean`,
  },
  {
    name: 'an operation that breaks the contract is answered alone',
    lines: `
      top_up pay 100        -> credited
      place a 1.5           -> invalid amountMicros
      place a -1            -> invalid amountMicros
      place a 9007199254740992 -> invalid amountMicros
      place a 1 tag=team    -> invalid tags
      settle a x            -> invalid chargeMicros
      settle a 1            -> unknown_hold
      place a 1             -> placed`,
  },
  {
    name: 'what is no amount, no kind of money and no limit never enters the books',
    lines: `
      top_up pay 0                     -> invalid
      top_up pay -5                    -> invalid
      top_up pay 1.5                   -> invalid
      top_up pay 9007199254740993      -> invalid
      grant gift of_mine 5             -> invalid
      cap -1                           -> invalid
      top_up pay 100                   -> credited
      place a 10 claim=r1/p/k1/f       -> placed
      unknown r1                       -> marked_unknown
      resolve r1 settle -5             -> invalid
      resolve r1 settle 1.5            -> invalid
      resolve r1 settle 5              -> resolved 5
      books                            -> 95 0 5 0
      audit                            -> clean`,
  },
];

/** Every bound, attacked: 3 open holds, 2 blocks, 2 tag values, 600 kB of records. */
export const boundScenarios: readonly Scenario[] = [
  {
    name: 'more open holds than a tenant may have are refused, not dropped',
    lines: `
      top_up pay 100        -> credited
      place a 1             -> placed
      place b 1             -> placed
      place c 1             -> placed
      place d 1             -> open_holds_max
      place a 1             -> placed
      settle a 1            -> settled
      place d 1             -> placed
      books                 -> 96 3 1 0`,
  },
  {
    name: 'more blocks than are kept are refused, and can be added when one is spent',
    lines: `
      top_up one 10         -> credited
      top_up two 10         -> credited
      top_up three 10       -> too_many_blocks
      books                 -> 20 0 0 0
      place a 10            -> placed
      settle a 10           -> settled
      top_up three 10       -> credited
      books                 -> 20 0 10 0`,
  },
  {
    name: 'tag values beyond those that are counted are refused, never waved through',
    lines: `
      top_up pay 100                -> credited
      budget team day 50 -          -> configured
      place a 1 tag=team:a          -> placed
      place b 1 tag=team:b          -> placed
      place c 1 tag=team:c          -> tag_budget_unavailable
      place c 1 tag=team:a          -> placed
      settle a 1                    -> settled
      settle b 1                    -> settled
      settle c 1                    -> settled
      + 4h
      place d 1 tag=team:c          -> placed`,
  },
  {
    name: 'a new key is refused before the send when the records are full; a replay never is',
    lines: `
      top_up pay 100                  -> credited
      place a 1 claim=r1/p/k1/f       -> placed
      place b 1 claim=r2/p/k2/f       -> placed
      place c 1 claim=r3/p/k3/f       -> record_quota
      place c 1                       -> placed
      record r1 200 1                 -> recorded
      place d 1 claim=r1b/p/k1/f      -> replay 200 1
      free r2                         -> freed
      place e 1 claim=r5/p/k5/f       -> open_holds_max
      release b                       -> released
      place e 1 claim=r5/p/k5/f       -> placed
      books                           -> 97 3 0 0`,
  },
  {
    name: 'a claim takes room until it ends, an answer what it has until it expires; each gives it back once',
    lines: `
      top_up pay 100                  -> credited
      place a 0 claim=r1/p/k1/f       -> placed
      settle a 0                      -> settled
      place b 0 claim=r2/p/k2/f       -> placed
      settle b 0                      -> settled
      place c 0 claim=r3/p/k3/f       -> record_quota
      record r1 200 0                 -> recorded
      place c 0 claim=r3/p/k3/f       -> placed
      settle c 0                      -> settled
      place d 0 claim=r4/p/k4/f       -> record_quota
      unknown r2                      -> marked_unknown
      record r2 200 0                 -> recorded
      place d 0 claim=r4/p/k4/f       -> placed
      settle d 0                      -> settled
      place e 0 claim=r5/p/k5/f       -> record_quota
      unknown r3                      -> marked_unknown
      free r3                         -> freed
      place e 0 claim=r5/p/k5/f       -> placed
      settle e 0                      -> settled
      place f 0 claim=r6/p/k6/f       -> record_quota
      unknown r4                      -> marked_unknown
      resolve r4 settle 0             -> resolved 0
      place f 0 claim=r6/p/k6/f       -> placed
      settle f 0                      -> settled
      place g 0 claim=r7/p/k7/f       -> record_quota
      restart
      place g 0 claim=r7/p/k7/f       -> record_quota
      free r5                         -> freed
      place g 0 claim=r7/p/k7/f       -> placed
      settle g 0                      -> settled
      record r6 200 0 bytes=80000     -> recorded
      place h 0 claim=r8/p/k8/f       -> record_quota
      + 25h
      alarm
      place h 0 claim=r8/p/k8/f       -> placed
      place i 0 claim=r9/p/k9/f       -> placed
      place j 0 claim=r10/p/k10/f     -> record_quota
      audit                           -> clean`,
  },
];
