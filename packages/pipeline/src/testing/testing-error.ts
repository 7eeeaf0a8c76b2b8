import { CodedError } from "@xfn/errors";
/**
 * - `InvalidInput`: an input of a test is invalid: a missing file, a value that is not an object, or two documents
 *   instead of one
 * - `MissingFunction`: a step of the Composition has neither a function nor a runner
 * - `UnknownFunction`: a function is for a step or image that the Composition does not have, or it is not a function
 * - `NotStable`: the output keeps changing, or a round forgets an existing resource
 */
export type TestingErrorCode = "InvalidInput" | "MissingFunction" | "UnknownFunction" | "NotStable";

/**
 * A test that is set up incorrectly, or a composition that does not converge. The message never contains a value of a
 * resource.
 */
export class TestingError extends CodedError<TestingErrorCode> {
  override readonly name = "TestingError";
}
