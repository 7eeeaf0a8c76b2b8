import { expect, test } from "vitest";
import { ImageError } from "./errors.ts";
import { SingleFlight } from "./single-flight.ts";

/** Work that ends on request, or when it is aborted. */
function manual(): {
  work: (signal: AbortSignal) => Promise<string>;
  resolve: (value: string) => void;
  reject: (error: Error) => void;
  started: () => number;
  givenUp: () => boolean;
} {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let started = 0;
  let aborted = false;
  const work = (signal: AbortSignal): Promise<string> => {
    started += 1;
    signal.addEventListener("abort", () => {
      aborted = true;
      reject(new ImageError("Aborted", "given up"));
    });
    return promise;
  };
  return { work, resolve, reject, started: () => started, givenUp: () => aborted };
}

test("concurrent work for one key runs once, and later work runs again", async () => {
  const flights = new SingleFlight<string>();
  const { work, resolve, started } = manual();
  const both = [flights.run("k", undefined, work), flights.run("k", undefined, work)];
  resolve("done");
  expect(await Promise.all(both)).toEqual(["done", "done"]);
  expect(started()).toBe(1);
  await flights.run("k", undefined, work);
  expect(started()).toBe(2);
});

test("work is aborted when the last waiting caller aborts, and not before", async () => {
  const flights = new SingleFlight<string>();
  const { work, givenUp } = manual();
  const [one, two] = [new AbortController(), new AbortController()];
  const first = flights.run("k", one.signal, work);
  const second = flights.run("k", two.signal, work);
  one.abort();
  await expect(first).rejects.toMatchObject({ code: "Aborted" });
  expect(givenUp()).toBe(false);
  two.abort();
  await expect(second).rejects.toMatchObject({ code: "Aborted" });
  expect(givenUp()).toBe(true);
});

test("a joined caller runs its own work if the first one is unauthorized", async () => {
  const flights = new SingleFlight<string>();
  const { work, reject } = manual();
  const first = flights.run("k", undefined, work);
  const second = flights.run("k", undefined, async () => "mine");
  reject(new ImageError("Unauthorized", "no"));
  await expect(first).rejects.toMatchObject({ code: "Unauthorized" });
  expect(await second).toBe("mine");
});

test("a joined caller does not repeat work that fails permanently", async () => {
  const flights = new SingleFlight<string>();
  const { work, reject } = manual();
  let own = 0;
  const first = flights.run("k", undefined, work);
  const second = flights.run("k", undefined, async () => `${(own += 1)}`);
  reject(new ImageError("DigestMismatch", "no"));
  await expect(first).rejects.toMatchObject({ code: "DigestMismatch" });
  await expect(second).rejects.toMatchObject({ code: "DigestMismatch" });
  expect(own).toBe(0);
});
