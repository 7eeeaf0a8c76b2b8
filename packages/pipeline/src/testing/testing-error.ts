/**
 * - `InvalidInput`: an input of a test is not what it should be: no such file, no object, two where one belongs
 * - `MissingFunction`: a step of the Composition has neither a function nor a runner
 * - `UnknownFunction`: a function is given for a step or image that the Composition does not have, or is none
 * - `NotStable`: what is composed goes on changing, or is forgotten once it exists
 */
export type TestingErrorCode = "InvalidInput" | "MissingFunction" | "UnknownFunction" | "NotStable";

/** A test that is set up wrongly, or a composition that does not converge. The message never contains a value of a resource. */
export class TestingError extends Error {
  override readonly name = "TestingError";
  readonly code: TestingErrorCode;
  /** The same test fails again. */
  readonly retryable = false as const;

  constructor(code: TestingErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
