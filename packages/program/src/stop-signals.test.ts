import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { onStopSignals } from "./stop-signals.ts";

test("the first signal drains, the second kills, in any order; further ones do nothing", () => {
  const source = new EventEmitter();
  const done: string[] = [];
  const stop = onStopSignals(
    { drain: (signal) => done.push(`drain ${signal}`), kill: (signal) => done.push(`kill ${signal}`) },
    source,
  );
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGTERM"]) source.emit(signal, signal);
  expect(done).toEqual(["drain SIGTERM", "kill SIGINT"]);
  stop();
  expect(source.eventNames()).toEqual([]);
});
