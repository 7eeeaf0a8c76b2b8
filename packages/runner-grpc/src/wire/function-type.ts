import type { Metadata } from "@grpc/grpc-js";
import { FUNCTION_TYPES, type RunOptions } from "@xfn/runner-contract";
import { RunnerGrpcError } from "./runner-grpc-error.ts";

/**
 * The request header with the type of a function. The messages have no field for it. A runner that does not know the
 * header lets the image decide: a program then gets a container, which isolates it more than a chroot.
 */
export const TYPE_KEY = "xfn-function-type";

/** Sets the header. Calls without a type have no header: the image decides. */
export function writeType(metadata: Metadata, { type }: RunOptions): void {
  if (type !== undefined) metadata.set(TYPE_KEY, type);
}

/** Reads the header. @throws RunnerGrpcError `InvalidRequest` for another type */
export function readType(metadata: Metadata): Pick<RunOptions, "type"> {
  const [text] = metadata.get(TYPE_KEY);
  if (text === undefined) return {};
  const type = FUNCTION_TYPES.find((each) => each === text);
  if (type !== undefined) return { type };
  throw new RunnerGrpcError("InvalidRequest", `${TYPE_KEY} must be ${FUNCTION_TYPES.join(" or ")}`);
}
