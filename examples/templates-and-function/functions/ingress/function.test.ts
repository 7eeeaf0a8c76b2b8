import { invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import ingress from "./function.ts";

const service = { apiVersion: "v1", kind: "Service", metadata: { name: "shop" } };
const website = (hosts?: string[]) => ({
  metadata: { name: "shop" },
  spec: { namespace: "web", image: "shop:1", ...(hosts && { hosts }) },
});

test("each host has a rule for the template's service", async () => {
  const { desired } = await invoke(ingress, { xr: website(["a.example", "b.example"]), desired: { service } });
  const backend = { service: { name: "shop", port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  expect(desired["ingress"]).toMatchObject({
    spec: {
      rules: [
        { host: "a.example", http },
        { host: "b.example", http },
      ],
    },
  });
  expect(desired["service"]).toEqual(service);
});

test("without hosts an existing ingress is deleted", async () => {
  const old = { apiVersion: "networking.k8s.io/v1", kind: "Ingress" };
  const run = { xr: website(), desired: { service } };
  expect(Object.keys((await invoke(ingress, run)).desired)).toEqual(["service"]);
  expect((await invoke(ingress, { ...run, observed: { ingress: old } })).desired["ingress"]).toBeNull();
});
