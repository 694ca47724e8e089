import kadmin_nb as kn

kn.widgets.edit_quotas(kn.connect("prod"))
