import { describe, expect, test } from "vitest";
import { HEADERS_BYTES, PeerBudget } from "./peer-budget.ts";

const MiB = 1024 * 1024;

/** A budget with a stopped clock. */
const budgetOf = (protocol: "http1" | "http2" = "http2"): PeerBudget => new PeerBudget(protocol, () => 0);

/** Counts how often `spend` succeeds, up to `most`. */
function times(spend: () => boolean, most = 100_000): number {
  for (let count = 0; count < most; count++) if (!spend()) return count;
  return most;
}

describe("a server", () => {
  test("may send as much content as its calls expect, but no more", () => {
    const budget = budgetOf();
    budget.begin(100 * MiB);
    expect(budget.costOfContent(100 * MiB)).toBeLessThanOrEqual(0);
    expect(budget.costOfContent(MiB)).toBe(MiB);
  });

  test("may send what was on its way when its call ended", () => {
    const budget = budgetOf();
    budget.begin(100 * MiB)();
    expect(budget.costOfContent(4 * MiB)).toBeLessThanOrEqual(0);
    expect(budget.costOfContent(MiB)).toBe(MiB);
  });

  test("is not charged for the answers of many calls at a time", () => {
    const budget = budgetOf();
    const ends = Array.from({ length: 200 }, () => budget.begin(MiB));
    const answers = times(() => budget.spendRead(100, 2 * HEADERS_BYTES + 100), 200);
    expect(answers).toBe(200);
    for (const end of ends) end();
    expect(budget.exceeded).toBe(false);
  });

  test("cannot save the room of calls for later", () => {
    const budget = budgetOf();
    for (let call = 0; call < 1000; call++) budget.begin(MiB)();
    expect(times(() => budget.spend(HEADERS_BYTES))).toBeLessThanOrEqual(MiB / HEADERS_BYTES);
  });

  test("that sends small pieces exceeds the budget by their number", () => {
    expect(times(() => budgetOf().spendRead(1, 0))).toBeGreaterThan(1);
    const budget = budgetOf();
    expect(times(() => budget.spendRead(1, 0))).toBeLessThan(1000);
    expect(budget.exceeded).toBe(true);
  });

  test("regains room with time, for pings, but no more than it had", () => {
    let now = 0;
    const budget = new PeerBudget("http2", () => now);
    const pings = times(() => {
      now += 1000;
      return budget.spendRead(17, 300);
    }, 10_000);
    expect(pings).toBe(10_000);
    now += 1e9;
    expect(times(() => budget.spendRead(17, 300))).toBeLessThan(1000);
  });

  test("may acknowledge large requests", () => {
    const budget = budgetOf();
    const acknowledged = times(() => {
      budget.sent(16_384);
      // Two window updates and a ping.
      return budget.spendRead(43, 3 * 256 + 43);
    }, 10_000);
    expect(acknowledged).toBe(10_000);
  });
});

describe("a server of HTTP/1", () => {
  test("may send content without end, in chunks of a usual size", () => {
    const budget = budgetOf("http1");
    const chunks = times(() => budget.spendRead(8192, 8192) && budget.refundChunk(8180), 100_000);
    expect(chunks).toBe(100_000);
  });

  test("may not send content in tiny chunks without end", () => {
    const budget = budgetOf("http1");
    const isAllowed = (): boolean => budget.spendRead(6000, 6000) && times(() => budget.refundChunk(1), 1000) === 1000;
    expect(times(isAllowed)).toBeLessThan(10);
  });
});
