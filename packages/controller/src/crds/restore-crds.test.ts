import type { Client, LiveObject } from "@xfn/kubernetes";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeInformers } from "../../testing/fake-informers.ts";
import { CRDS } from "../objects/kinds.ts";
import { controllerCrds } from "./controller-crds.ts";
import { restoreCrds } from "./restore-crds.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a writer that changes a CRD back after each restore does not get one for each of its writes", async () => {
  const [crd = {}] = controllerCrds({});
  const status = { conditions: [{ type: "Established", status: "True" }] };
  const metadata = { ...crd.metadata, name: crd.metadata?.name ?? "", uid: "crd", resourceVersion: "1" };
  const own: LiveObject = { apiVersion: "", kind: "", ...crd, metadata, status };
  const changed = (generation: number): LiveObject => ({ ...own, metadata: { ...metadata, generation } });
  const client = { get: async () => own, apply: async () => own } as unknown as Client;
  const informers = fakeInformers();
  informers.put(CRDS, changed(1));
  let restored = 0;
  const stop = restoreCrds({ client, informers, served: {}, onRestore: () => void restored++ });
  informers.put(CRDS, changed(2));
  await vi.advanceTimersByTimeAsync(10);
  expect(restored).toBe(1);
  for (let generation = 3; generation < 100; generation++) {
    informers.put(CRDS, changed(generation));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(restored).toBeGreaterThan(5);
  expect(restored).toBeLessThan(15);
  await stop();
});
