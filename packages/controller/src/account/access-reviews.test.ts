import type { Client, ResourceKind } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { AccessReviews } from "./access-reviews.ts";

const WIDGETS: ResourceKind = {
  group: "example.org",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};
const signal = new AbortController().signal;

/** Access reviews, answered by a fake server. */
function stage(): { reviews: AccessReviews; server: { allowed: boolean; asked: unknown[] }; wait(ms: number): void } {
  const server = { allowed: true, asked: [] as unknown[] };
  let now = 0;
  const client = {
    raw: async (_: string, __: string, { body }: { body: { spec: { resourceAttributes: unknown } } }) => {
      server.asked.push(body.spec.resourceAttributes);
      return { status: { allowed: server.allowed } };
    },
  } as unknown as Client;
  return { reviews: new AccessReviews(client, () => now), server, wait: (ms) => void (now += ms) };
}

test("answers from a cache only after a review, and reviews again after ten seconds", async () => {
  const { reviews, server, wait } = stage();
  expect(reviews.allows("get", WIDGETS, "shop")).toBe(false);
  await reviews.refresh(signal);
  expect(server.asked).toEqual([{ verb: "get", group: "example.org", resource: "widgets", namespace: "shop" }]);
  expect(reviews.allows("get", WIDGETS, "shop")).toBe(true);
  await reviews.refresh(signal);
  expect(server.asked).toHaveLength(1);
  server.allowed = false;
  wait(10_000);
  expect(reviews.allows("get", WIDGETS, "shop")).toBe(false);
  await reviews.refresh(signal);
  expect(reviews.allows("get", WIDGETS, "shop")).toBe(false);
  expect(server.asked).toHaveLength(2);
});

test("a right in one namespace is none in another, and to get is not to list", async () => {
  const { reviews } = stage();
  reviews.allows("get", WIDGETS, "shop");
  await reviews.refresh(signal);
  expect(reviews.allows("get", WIDGETS, "bank")).toBe(false);
  expect(reviews.allows("get", WIDGETS, undefined)).toBe(false);
  expect(reviews.allows("list", WIDGETS, "shop")).toBe(false);
});

test("an answer is shared for ten seconds, is not renewed unasked, and a failure is not kept", async () => {
  const { reviews, server, wait } = stage();
  const right = { verb: "patch", group: "example.org", resource: "widgets" };
  server.allowed = false;
  expect(await Promise.all([reviews.has(right, signal), reviews.has(right, signal)])).toEqual([false, false]);
  expect(await reviews.has(right, signal)).toBe(false);
  await reviews.refresh(signal);
  expect(server.asked).toEqual([right]);
  server.allowed = true;
  wait(10_000);
  await reviews.refresh(signal);
  expect(server.asked).toHaveLength(1);
  expect(await reviews.has(right, signal)).toBe(true);
  expect(server.asked).toHaveLength(2);
  let isDown = true;
  const client = {
    raw: async () => {
      if (isDown) throw new TypeError("the server does not answer");
      return { status: { allowed: true } };
    },
  } as unknown as Client;
  const failing = new AccessReviews(client, () => 0);
  await expect(failing.has(right, signal)).rejects.toThrow("does not answer");
  isDown = false;
  expect(await failing.has(right, signal)).toBe(true);
});

test("rights for which nothing asks are no longer reviewed", async () => {
  const { reviews, server, wait } = stage();
  reviews.allows("get", WIDGETS, "shop");
  wait(120_001);
  await reviews.refresh(signal);
  expect(server.asked).toEqual([]);
});
