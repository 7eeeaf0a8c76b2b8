import type { RunnerClient } from "@xfn/runner-grpc";
import { expect, test } from "vitest";
import { AllowedRunners, type CallableRunner } from "./allowed-runners.ts";

const OWN: CallableRunner = client();
const DEFAULT = "unix:///@crossplane/fn/default.sock";

function client(): RunnerClient {
  const refuse = (): never => {
    throw new Error("no call was expected");
  };
  return { maxOutputBytes: 1, ready: refuse, run: refuse, callFunction: refuse, close: () => undefined };
}

function runners(...allowed: string[]): { at: (endpoint: string) => unknown; dialled: string[] } {
  const dialled: string[] = [];
  const own = { client: OWN, endpoint: "own:1", defaultEndpoint: DEFAULT };
  const directory = new AllowedRunners(own, allowed, (endpoint) => {
    dialled.push(endpoint);
    return client();
  });
  return { at: (endpoint) => directory.at(endpoint), dialled };
}

test("a step may name the controller's own runner, also by the default endpoint of the contract", () => {
  const { at, dialled } = runners();
  expect([at("own:1"), at(DEFAULT)]).toEqual([OWN, OWN]);
  expect(dialled).toEqual([]);
});

test("another runner must be allowed, and is dialled once", () => {
  const { at, dialled } = runners("a:1");
  expect(at("b:1")).toBeUndefined();
  expect(at("a:1")).toBe(at("a:1"));
  expect(dialled).toEqual(["a:1"]);
});

test("the default endpoint is a runner of its own if the operator allows it", () => {
  const { at, dialled } = runners(DEFAULT);
  expect(at(DEFAULT)).not.toBe(OWN);
  expect(dialled).toEqual([DEFAULT]);
});
