import { describe, expect, test } from "vitest";
import { parseSchedule } from "./schedule.ts";

const next = (schedule: string, after: string): string =>
  new Date(parseSchedule(schedule).next(Date.parse(after))).toISOString();

describe("the next time", () => {
  test.each([
    ["* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00.000Z"],
    ["* * * * *", "2026-01-01T00:00:59.5Z", "2026-01-01T00:01:00.000Z"],
    ["5/15 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T00:20:00.000Z"],
    ["0 0 ? * MON-FRI", "2026-01-03T00:00:00Z", "2026-01-05T00:00:00.000Z"],
    // Either the day of the month or the weekday, as in cron.
    ["0 12 13 * 5", "2026-01-03T00:00:00Z", "2026-01-09T12:00:00.000Z"],
    ["@daily", "2026-01-01T10:00:00Z", "2026-01-02T00:00:00.000Z"],
    ["@every 1h30m", "2026-01-01T10:00:00.7Z", "2026-01-01T11:30:00.000Z"],
    ["@every 1500ms", "2026-01-01T10:00:00Z", "2026-01-01T10:00:01.000Z"],
    ["TZ=Europe/Paris 0 8 * * *", "2026-01-01T00:00:00Z", "2026-01-01T07:00:00.000Z"],
    ["CRON_TZ=Asia/Tokyo 0 8 * * *", "2026-01-01T00:00:00Z", "2026-01-01T23:00:00.000Z"],
  ])("of %s after %s is %s", (schedule, after, expected) => {
    expect(next(schedule, after)).toBe(expected);
  });

  test("of a time that summer time skips is right after the change, and that of a repeated time comes once", () => {
    const schedule = "TZ=Europe/Berlin 30 2 * * *";
    expect(next(schedule, "2026-03-28T12:00:00Z")).toBe("2026-03-29T01:00:00.000Z");
    expect(next(schedule, "2026-03-29T01:00:00Z")).toBe("2026-03-30T00:30:00.000Z");
    expect(next(schedule, "2026-10-24T12:00:00Z")).toBe("2026-10-25T00:30:00.000Z");
    expect(next(schedule, "2026-10-25T00:30:00Z")).toBe("2026-10-26T01:30:00.000Z");
  });
});

test.each([
  ["61 * * * *", "minute"],
  ["* * * *", "five"],
  ["* * * * * *", "five"],
  ["0 0 31 2 *", "never comes"],
  ["TZ=Mars/Olympus 0 3 * * *", "Mars/Olympus"],
  ["@every never", "duration"],
  ["@every 10ms", "duration"],
  ["@sometimes", "is not a schedule"],
])("the schedule %s is refused, with the reason", (schedule, why) => {
  expect(() => parseSchedule(schedule)).toThrow(why);
});
