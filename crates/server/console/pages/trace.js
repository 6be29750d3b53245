export const Trace = () => null;
