import type { RunOptions } from "@xfn/runner-contract";
import { MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";
import { expect, test } from "vitest";
import { decodeRequest, encodeRequest, encodeResponse } from "./request.ts";
import { RunFunctionRequest, RunFunctionResponse } from "./run-function.ts";

const INPUT = Buffer.from("input");
const invalid = (code = "InvalidRequest"): unknown => expect.objectContaining({ code, retryable: false });

test.each<RunOptions>([
  {},
  { timeoutMs: 1 },
  { timeoutMs: 12_345 },
  { network: "Isolated" },
  { network: "Accessible", memoryBytes: 134_217_728, cpus: 0.07 },
  { pullPolicy: "IfNotPresent" },
  { pullPolicy: "Always" },
  { pullPolicy: "Never", auth: { username: "u", password: "p" } },
  { auth: { auth: "dTpw" } },
  { auth: { identityToken: "i" } },
  { auth: { registryToken: "r" } },
])("%j arrive unchanged", (options) => {
  const request = decodeRequest(Buffer.concat(encodeRequest("x:1", INPUT, options)));
  expect(request).toEqual({ image: "x:1", input: expect.anything(), options });
  expect(Buffer.from(request.input).toString()).toBe("input");
});

// The bytes are written by hand from the field numbers of the contract that Crossplane shipped: a round trip would not
// detect a renumbered field.
test("uses the field numbers and enum values of Crossplane v1.11 to v1.13", () => {
  const options: RunOptions = {
    timeoutMs: 1_500,
    network: "Accessible",
    memoryBytes: 5,
    cpus: 0.25,
    pullPolicy: "Never",
    auth: { username: "a", password: "b", auth: "c", identityToken: "d", registryToken: "e" },
  };
  const auth = "0a0161" + "120162" + "1a0163" + "220164" + "2a0165";
  const pull = `0803120f${auth}`;
  const resources = "0a0b0a09" + "0a0135" + "120432" + "35306d";
  const config = `${resources}12020802` + "1a08" + "0801" + "1080cab5ee01";
  const hex = `0a0178` + `1205696e707574` + `1a${size(pull)}${pull}` + `22${size(config)}${config}`;
  expect(Buffer.concat(encodeRequest("x", INPUT, options)).toString("hex")).toBe(hex);
});

test("a call with only image and input leaves all options to the runner", () => {
  const bytes = RunFunctionRequest.encode({
    image: "x",
    input: INPUT,
    imagePullConfig: { pullPolicy: 0 },
    runFunctionConfig: { network: { policy: 0 }, resources: { limits: { memory: "", cpu: "" } } },
  });
  expect(decodeRequest(bytes).options).toEqual({});
});

test.each([
  ["no image", { image: "" }],
  ["a long image", { image: "x".repeat(1025) }],
  ["a line break in the image", { image: "x\nforged log line" }],
  ["an unknown pull policy", { imagePullConfig: { pullPolicy: 9 as 0 } }],
  ["a negative pull policy", { imagePullConfig: { pullPolicy: -1 as 0 } }],
  ["an unknown network", { runFunctionConfig: { network: { policy: 3 as 0 } } }],
  ["no time at all", { runFunctionConfig: { timeout: { seconds: 0n, nanos: 0 } } }],
  ["a negative timeout", { runFunctionConfig: { timeout: { seconds: -1n, nanos: 0 } } }],
  ["an endless timeout", { runFunctionConfig: { timeout: { seconds: 2n ** 62n, nanos: 0 } } }],
  ["a limit of nothing", { runFunctionConfig: { resources: { limits: { memory: "0", cpu: "" } } } }],
  ["a limit that is not a quantity", { runFunctionConfig: { resources: { limits: { memory: "", cpu: "lots" } } } }],
  [
    "a huge token",
    {
      imagePullConfig: {
        pullPolicy: 0 as const,
        auth: { username: "", password: "", auth: "", identityToken: "x".repeat(70_000), registryToken: "" },
      },
    },
  ],
])("rejects %s and names it", (_, part) => {
  const bytes = RunFunctionRequest.encode({ image: "x", input: INPUT, ...part });
  expect(() => decodeRequest(bytes)).toThrow(invalid());
});

test.each([
  ["cut off", "0aff"],
  ["a length beyond the end", "12ffffffff07"],
  ["an endless varint", "08ffffffffffffffffffff"],
  ["a wire type that there is not", "0f"],
  ["an image that is not UTF-8", "0a02c328"],
])("rejects bytes that are not a request: %s", (_, hex) => {
  expect(() => decodeRequest(Buffer.from(hex, "hex"))).toThrow(invalid());
});

test("survives groups nested a million deep", () => {
  expect(() => decodeRequest(Buffer.alloc(1_000_000, 0x33))).toThrow(invalid());
});

test("both sides reject input beyond the bound", () => {
  const input = new Uint8Array(MAX_PAYLOAD_BYTES + 1);
  expect(() => encodeRequest("x", input, {})).toThrow(invalid("InputTooLarge"));
  expect(() => decodeRequest(RunFunctionRequest.encode({ image: "x", input }))).toThrow(invalid("InputTooLarge"));
});

test.each<RunOptions>([
  { timeoutMs: 0 },
  { timeoutMs: Number.NaN },
  { timeoutMs: Infinity },
  { memoryBytes: -1 },
  { cpus: 0 },
])("the client rejects %j before it sends anything", (options) => {
  expect(() => encodeRequest("x", INPUT, options)).toThrow(invalid());
});

test("encodes the same bytes as the codec, even without a payload", () => {
  for (const payload of [new Uint8Array(), INPUT, new Uint8Array(300)]) {
    const request = { image: "x", input: payload, runFunctionConfig: {} };
    expect(Buffer.concat(encodeRequest("x", payload, {})).toString("hex")).toBe(
      hexOf(RunFunctionRequest.encode(request)),
    );
    const response = RunFunctionResponse.encode({ output: payload });
    expect(Buffer.concat(encodeResponse(payload)).toString("hex")).toBe(hexOf(response));
  }
});

test("does not copy an input of up to 100 MiB out of its message", () => {
  const message = Buffer.concat(encodeRequest("x", new Uint8Array(100_000), {}));
  expect(decodeRequest(message).input.buffer).toBe(message.buffer);
});

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function size(hex: string): string {
  return (hex.length / 2).toString(16).padStart(2, "0");
}
