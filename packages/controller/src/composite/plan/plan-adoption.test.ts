import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { planAdoption } from "./plan-adoption.ts";

const xr: LiveObject = {
  apiVersion: "example.org/v1",
  kind: "XThing",
  metadata: { name: "xr", uid: "uid-xr", resourceVersion: "1" },
};
const config = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "uid-c" };
const former = { apiVersion: "example.org/v1", kind: "XThing", name: "xr", uid: "uid-before", controller: true };

test("the predecessor of an XR is removed from owners, after the XR is confirmed", () => {
  const metadata = { name: "a", uid: "uid-a", resourceVersion: "7", ownerReferences: [config, former] };
  const { stages } = planAdoption(xr, [{ apiVersion: "v1", kind: "Widget", metadata }]);
  expect(stages).toMatchObject([
    {
      onFailure: "stop",
      actions: [
        { do: "confirm", seen: xr },
        { do: "patch", guard: "version", body: { metadata: { ownerReferences: [config] } } },
      ],
    },
  ]);
});
