import { expect, test } from "vitest";
import { invoke } from "../testing/invoke.ts";
import { type } from "./compose.ts";
import { operate } from "./operate.ts";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } } as const;

test("an operation desires objects, with an output and the desired state of earlier steps", async () => {
  const fn = operate({ config: type<{ value: string }>() }, ({ config, desired, output }) => {
    desired.apply("a", { ...CONFIG_MAP, data: { value: config.value } });
    output({ names: desired.names() });
  });
  const { desired, operationOutput, fatal } = await invoke(fn, {
    config: { value: "v" },
    desired: { earlier: CONFIG_MAP },
    pipeline: {},
  });
  expect(fatal).toBe(undefined);
  expect(desired).toEqual({ earlier: CONFIG_MAP, a: { ...CONFIG_MAP, data: { value: "v" } } });
  expect(operationOutput).toEqual({ names: ["earlier", "a"] });
});

test("an operation that throws fails, with what earlier steps desire", async () => {
  const fn = operate(({ desired }) => {
    desired.apply("a", CONFIG_MAP);
    throw new Error("no luck");
  });
  const { desired, fatal } = await invoke(fn, { desired: { earlier: CONFIG_MAP }, pipeline: {} });
  expect(fatal).toContain("no luck");
  expect(desired).toEqual({ earlier: CONFIG_MAP });
});

test("the output of an operation needs gRPC", async () => {
  const { fatal } = await invoke(
    operate(({ output }) => output({})),
    {},
  );
  expect(fatal).toContain("only a run over gRPC has an output");
});
