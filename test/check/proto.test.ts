import { spawnSync } from "node:child_process";
import process from "node:process";
import { Timestamp } from "@xfn/function-grpc/inspector";
import { Duration } from "@xfn/protobuf";
import { expect, test } from "vitest";
import * as functions from "../../packages/function-grpc/testing/tables.ts";
import * as runner from "../../packages/runner-grpc/testing/tables.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { messagesOfProto, messagesOfTables } from "../harness/proto-file.ts";

test("the descriptors of proto/ are current, and proto/ passes buf's lint and format", () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["scripts/proto.ts", "--check"], {
    cwd: CHECKOUT,
    encoding: "utf8",
  });
  expect(`${stdout}${stderr}`).toBe("");
  expect(status).toBe(0);
});

const { inspector, ...functionMessages } = functions;
const { details, ...contract } = runner;
const { Any, Status, ...info } = details;

test.each([
  ["apiextensions/fn/proto/v1/run_function.proto", functionMessages],
  ["apiextensions/fn/proto/v1alpha1/run_function.proto", contract],
  ["crossplane/pipeline/v1alpha1/pipeline_inspector.proto", inspector],
  ["google/rpc/error_details.proto", info],
  ["google/rpc/status.proto", { Status }],
])("the tables have the fields of %s", (file, tables) => {
  expect(messagesOfTables(Object.values(tables))).toEqual(messagesOfProto(file));
});

test("the messages that come with protobuf have its field numbers", () => {
  expect(messagesOfTables([Any, Duration, Timestamp])).toEqual({
    Any: { typeUrl: "1 string", value: "2 bytes" },
    Duration: { seconds: "1 int64", nanos: "2 int32" },
    Timestamp: { seconds: "1 int64", nanos: "2 int32" },
  });
});
