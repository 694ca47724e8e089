import kadmin_nb as kn

try:
    kn.connect("127.0.0.1:1").quotas.describe()
except kn.errors.ConnectionFailed as error:
    print(error, error.hint)
