import type { ReadinessCheck } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { Float64 } from "../values/go-value.ts";
import { conditionStatus, isReady, isReadyUnobserved } from "./readiness.ts";

const bucket: JsonObject = {
  apiVersion: "s3.example.org/v1",
  kind: "Bucket",
  spec: { secret: "hunter2" },
  status: {
    conditions: [
      { type: "Synced", status: "True" },
      { type: "Ready", status: "False" },
    ],
    state: "ACTIVE",
    count: 3,
    half: 2.5,
    big: 9007199254740993n,
    ok: true,
    no: false,
    empty: "",
    zero: 0,
    nothing: null,
    list: [],
  },
};

describe("isReady", () => {
  test("without checks, the Ready condition decides", () => {
    expect(isReady(bucket)).toBe(false);
    expect(isReady({ status: { conditions: [{ type: "Ready", status: "True" }] } }, [])).toBe(true);
    expect(isReady({})).toBe(false);
  });

  test.each<[ReadinessCheck, boolean]>([
    [{ type: "None" }, true],
    [{ type: "NonEmpty", fieldPath: "status.state" }, true],
    [{ type: "NonEmpty", fieldPath: "status.empty" }, true],
    [{ type: "NonEmpty", fieldPath: "status.nothing" }, true],
    [{ type: "NonEmpty", fieldPath: "status.missing.deep" }, false],
    [{ type: "NonEmpty", fieldPath: "status.list[99999999]" }, false],
    [{ type: "MatchString", fieldPath: "status.state", matchString: "ACTIVE" }, true],
    [{ type: "MatchString", fieldPath: "status.state", matchString: "active" }, false],
    [{ type: "MatchString", fieldPath: "status.empty", matchString: "" }, true],
    [{ type: "MatchString", fieldPath: "status.missing", matchString: "x" }, false],
    [{ type: "MatchInteger", fieldPath: "status.count", matchInteger: 3 }, true],
    [{ type: "MatchInteger", fieldPath: "status.zero", matchInteger: 0 }, true],
    [{ type: "MatchInteger", fieldPath: "status.missing", matchInteger: 3 }, false],
    [{ type: "MatchTrue", fieldPath: "status.ok" }, true],
    [{ type: "MatchTrue", fieldPath: "status.no" }, false],
    [{ type: "MatchTrue", fieldPath: "status.missing" }, false],
    [{ type: "MatchFalse", fieldPath: "status.no" }, true],
    [{ type: "MatchFalse", fieldPath: "status.missing" }, false],
    [{ type: "MatchCondition", matchCondition: { type: "Synced", status: "True" } }, true],
    [{ type: "MatchCondition", matchCondition: { type: "Missing", status: "Unknown" } }, true],
    [{ type: "MatchCondition", matchCondition: { type: "Missing", status: "True" } }, false],
  ])("%j is %s", (check, expected) => {
    expect(isReady(bucket, [check])).toBe(expected);
  });

  test("integers beyond 2^53 are compared exactly", () => {
    const big = (matchInteger: bigint): ReadinessCheck => ({
      type: "MatchInteger",
      fieldPath: "status.big",
      matchInteger,
    });
    expect(isReady(bucket, [big(9007199254740993n)])).toBe(true);
    expect(isReady(bucket, [big(9007199254740992n)])).toBe(false);
  });

  test("all checks must pass, and evaluation stops at the first that fails", () => {
    const broken: ReadinessCheck = { type: "MatchString", fieldPath: "status..", matchString: "x" };
    expect(isReady(bucket, [{ type: "None" }, { type: "MatchTrue", fieldPath: "status.no" }, broken])).toBe(false);
    expect(() => isReady(bucket, [{ type: "None" }, broken])).toThrow(expect.objectContaining({ index: 1 }));
  });

  test.each<[ReadinessCheck, string]>([
    [{ type: "NonEmpty" }, "InvalidCheck"],
    [{ type: "MatchString", fieldPath: "status.state" }, "InvalidCheck"],
    [{ type: "MatchInteger", matchInteger: 3 }, "InvalidCheck"],
    [{ type: "MatchCondition" }, "InvalidCheck"],
    [{ type: "Nope" } as unknown as ReadinessCheck, "InvalidCheck"],
    [{ type: "NonEmpty", fieldPath: "status..x" }, "InvalidCheck"],
    [{ type: "NonEmpty", fieldPath: "status.state.deep" }, "CannotCheck"],
    [{ type: "MatchString", fieldPath: "status.count", matchString: "3" }, "CannotCheck"],
    [{ type: "MatchInteger", fieldPath: "status.half", matchInteger: 2 }, "CannotCheck"],
    [{ type: "MatchInteger", fieldPath: "status.state", matchInteger: 2 }, "CannotCheck"],
    [{ type: "MatchTrue", fieldPath: "status.state" }, "CannotCheck"],
  ])("%j is an error: %s", (check, code) => {
    expect(() => isReady(bucket, [check])).toThrow(expect.objectContaining({ code, index: 0, retryable: false }));
  });

  test("an empty field of a template is not set; a function can match it", () => {
    const checks: ReadinessCheck[] = [
      { type: "MatchString", fieldPath: "status.empty", matchString: "" },
      { type: "MatchInteger", fieldPath: "status.zero", matchInteger: 0 },
    ];
    for (const check of checks) {
      expect(isReady(bucket, [check], "function")).toBe(true);
      expect(() => isReady(bucket, [check], "template")).toThrow(expect.objectContaining({ code: "InvalidCheck" }));
    }
    const nowhere: ReadinessCheck = { type: "NonEmpty", fieldPath: "" };
    expect(isReady(bucket, [nowhere], "function")).toBe(true);
    expect(() => isReady(bucket, [nowhere], "template")).toThrow(expect.objectContaining({ code: "InvalidCheck" }));
  });

  test("no float64 is an integer", () => {
    const status = { ratio: new Float64(3) } as unknown as JsonObject;
    const check: ReadinessCheck = { type: "MatchInteger", fieldPath: "status.ratio", matchInteger: 3 };
    expect(() => isReady({ status }, [check])).toThrow(expect.objectContaining({ code: "CannotCheck" }));
    expect(() => isReady(bucket, [{ ...check, matchInteger: 2.5 }])).toThrow(
      expect.objectContaining({ code: "InvalidCheck" }),
    );
  });

  test("messages never quote a value of the resource", () => {
    const check: ReadinessCheck = { type: "MatchInteger", fieldPath: "spec.secret", matchInteger: 1 };
    expect(() => isReady(bucket, [check])).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("hunter2") }),
    );
  });
});

test("a resource that does not exist yet is ready only without checks", () => {
  expect(isReadyUnobserved()).toBe(false);
  expect(isReadyUnobserved([{ type: "None" }])).toBe(true);
  expect(isReadyUnobserved([{ type: "None" }, { type: "NonEmpty", fieldPath: "spec" }])).toBe(false);
});

test("an invalid status matches no condition", () => {
  expect(conditionStatus({}, "Ready")).toBeUndefined();
  expect(conditionStatus({ status: { conditions: "Ready=True" } }, "Ready")).toBeUndefined();
  expect(
    conditionStatus({ status: { conditions: [{ type: "Ready", status: "True" }, "x"] } }, "Ready"),
  ).toBeUndefined();
  expect(conditionStatus({ status: { conditions: [{ type: "Ready", status: true }] } }, "Ready")).toBeUndefined();
  expect(isReady({}, [{ type: "MatchCondition", matchCondition: { type: "Ready", status: "Unknown" } }])).toBe(false);
});

test("a missing condition is Unknown; a condition without a status matches nothing", () => {
  expect(conditionStatus({ status: {} }, "Ready")).toBe("Unknown");
  expect(conditionStatus({ status: null }, "Ready")).toBe("Unknown");
  expect(conditionStatus({ status: { conditions: [null, { type: "Synced" }] } }, "Ready")).toBe("Unknown");
  expect(conditionStatus({ status: { conditions: [{ type: "Ready" }] } }, "Ready")).toBe("");
});

test("of two conditions with one type, the first counts", () => {
  const conditions = [
    { type: "Ready", status: "True" },
    { type: "Ready", status: "False" },
  ];
  expect(conditionStatus({ status: { conditions } }, "Ready")).toBe("True");
});
