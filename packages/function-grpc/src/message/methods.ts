export const METHOD_V1 = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
/** Crossplane 1.14 to 1.16 call only this one. Its messages have the same wire form. */
export const METHOD_V1BETA1 = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";
