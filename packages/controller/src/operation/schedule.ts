import { CodedError, messageOf } from "@xfn/errors";
import { tryParseDuration } from "@xfn/units";
import { Cron } from "croner";

/** A schedule has another form, or no time. */
export class ScheduleError extends CodedError<"Invalid"> {
  override readonly name = "ScheduleError";
}

/** The times of a CronOperation. */
export interface Schedule {
  /** The first time after another one. Both are milliseconds since the epoch. */
  next(after: number): number;
}

const SHORTEST_MS = 1_000;

/**
 * Parses `spec.schedule`, as Crossplane does: five fields, a name such as `@daily`, or `@every` with a duration. Times
 * are in UTC, or in the time zone of `TZ=ZONE` or `CRON_TZ=ZONE` before it.
 *
 * A time that a change to summer time skips comes right after the change. A repeated time comes once if hour and minute
 * are numbers.
 *
 * @throws {ScheduleError}
 */
export function parseSchedule(text: string): Schedule {
  const [, zone = "UTC", fields = ""] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(.*)$/s.exec(text.trim()) ?? [];
  const every = /^@every\s+(.*)$/.exec(fields)?.[1];
  if (every !== undefined) return { next: intervalOf(every) };
  try {
    // Quartz's sign for any value, which Crossplane's parser accepts.
    const cron = new Cron(fields.replaceAll("?", "*"), { mode: "5-part", timezone: zone, sloppyRanges: true });
    const next = (after: number): number => {
      const time = cron.nextRun(new Date(after));
      if (time === null)
        throw new ScheduleError("Invalid", `${JSON.stringify(text)} never comes; correct its day or month`);
      return time.getTime();
    };
    // A wrong time zone or date shows with the first time.
    next(0);
    return { next };
  } catch (cause) {
    if (cause instanceof ScheduleError) throw cause;
    const form = "write five fields, such as 0 3 * * 1-5, @every 1h30m, or @daily, after TZ=Europe/Paris if needed";
    throw new ScheduleError("Invalid", `${JSON.stringify(text)} is not a schedule: ${messageOf(cause)}; ${form}`, {
      cause,
    });
  }
}

function intervalOf(text: string): Schedule["next"] {
  const ms = tryParseDuration(text.trim());
  if (ms === undefined || ms < SHORTEST_MS)
    throw new ScheduleError("Invalid", `@every ${text} needs a duration of a second or more, such as 1h30m`);
  const whole = Math.floor(ms / 1_000) * 1_000;
  return (after) => Math.floor(after / 1_000) * 1_000 + whole;
}
