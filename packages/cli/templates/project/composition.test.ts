import { beside, render } from "@xfn/pipeline/testing";
import { expect, test } from "vitest";
import greet from "./functions/greet/function.ts";

const file = beside(import.meta.url);
const hello = {
  composite: file("xr.yaml"),
  composition: file("composition.yaml"),
  definition: file("definition.yaml"),
  functions: { greet },
};

test("composes a namespace by a template, and greetings by a function", async () => {
  const result = await render(hello);
  expect(result.names).toEqual(["greeting-ada", "greeting-grace", "namespace"]);
  expect(result).toComposeResource("greeting-ada", { data: { text: "Hello, ada!" } });
  expect(result.findings).toEqual([]);
});
