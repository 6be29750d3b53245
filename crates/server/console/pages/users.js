export const Users = () => null;
