import { printRender } from "@xfn/pipeline";
import { beside, converge, render } from "@xfn/pipeline/testing";
import { expect, test } from "vitest";
import firewall from "./functions/firewall/function.ts";

const file = beside(import.meta.url);
const orders = {
  composite: file("xr.yaml"),
  composition: file("composition.yaml"),
  definition: file("definition.yaml"), // for its defaults
  functions: { firewall }, // by the step's name
};

/** Another XR, as YAML. */
function xr(spec: string): string {
  return `{apiVersion: platform.example.org/v1alpha1, kind: XSQLDatabase, metadata: {name: test}, spec: ${spec}}`;
}

test("a server has the requested size and location", async () => {
  const result = await render({ ...orders, composite: xr("{region: US, storageGB: 20}") });
  expect(result).toComposeResource("server", {
    kind: "Server",
    spec: { forProvider: { location: "West US", storageMb: 20_480, version: expect.stringMatching(/^\d+$/) } },
  });
});

test("a server has 50 GB by default", async () => {
  const result = await render({ ...orders, composite: xr("{region: EU}") });
  expect(result).toComposeResource("server", { spec: { forProvider: { storageMb: 51_200 } } });
});

test("each address that may connect has a firewall rule", async () => {
  const result = await render(orders);
  expect(result.names).toEqual(["database", "firewall-cloud", "firewall-office", "server"]);
  expect(result).toComposeResource("firewall-office", {
    spec: { forProvider: { startIpAddress: "203.0.113.0", endIpAddress: "203.0.113.255" } },
  });
});

test("admitting every tenant of the cloud is deprecated, admitting every address is rejected", async () => {
  expect(await render(orders)).toHaveResult("Warning", /cloud.*deprecated/);
  const result = await render({
    ...orders,
    composite: xr("{region: EU, allow: [{name: all, from: 0.0.0.0, to: 255.255.255.255}]}"),
  });
  expect(result).toHaveResult("Fatal", "allow all");
  expect(result.names).toEqual([]);
});

test("a rule that the list no longer has is deleted", async () => {
  const rule = { apiVersion: "dbforpostgresql.azure.upbound.io/v1beta1", kind: "FirewallRule" };
  const result = await render({ ...orders, observed: { "firewall-home": rule } });
  expect(result.deleted).toEqual(["firewall-home"]);
});

test("the host is published once it is known", async () => {
  expect(await render(orders)).not.toPublish("host");
  const result = await render({ ...orders, observed: file("observed.yaml") });
  expect(result).toPublish("host", "orders-x7w2p.postgres.database.azure.com");
  expect(result).toBeReady("server");
  expect(result).not.toBeReady();
});

test("everything becomes ready, and then nothing changes", async () => {
  const status = (): object => ({ conditions: [{ type: "Ready", status: "True" }] });
  expect(await converge(orders, { status })).toBeReady();
});

test("nothing else has changed", async () => {
  expect(await render({ ...orders, observed: file("observed.yaml") })).toMatchSnapshot();
});

test("the output equals that of the README's xfn render", async () => {
  const result = await render({ ...orders, observed: file("observed.yaml") });
  await expect(printRender(result, { includeFunctionResults: true })).toMatchFileSnapshot("expected.yaml");
});
