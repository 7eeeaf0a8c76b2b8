import { beside, render } from "@xfn/pipeline/testing";
import { expect, test } from "vitest";

const file = beside(import.meta.url);
const hello = { composite: file("xr.yaml"), composition: file("composition.yaml"), definition: file("definition.yaml") };

test("composes a greeting", async () => {
  const result = await render(hello);
  expect(result).toComposeResource("greeting", { kind: "ConfigMap", data: { text: "Hello, ada!" } });
  expect(result).toBeReady();
  expect(result.findings).toEqual([]);
});
